"""The .proto, the modules made from it, and the table of commands belong together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from magnetar.wire.commands import NAMES
from magnetar.wire.proto import pulsar_pb2 as pb

ROOT = Path(__file__).resolve().parents[3]


def test_generated_modules_are_in_step_with_the_proto() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "gen_proto.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_each_type_number_is_the_field_number_of_its_message() -> None:
    fields = pb.BaseCommand.DESCRIPTOR.fields_by_number
    assert set(fields) == {1, *NAMES}


def test_all_command_types_up_to_topic_migrated_are_there() -> None:
    assert sorted(NAMES) == [*range(2, 41), *range(50, 69)]


def test_defaults_that_are_not_zero() -> None:
    """These decide behaviour where a client says nothing."""
    assert pb.CommandSubscribe().durable is True
    assert pb.CommandSubscribe().force_topic_creation is True
    assert pb.CommandProducer().user_provided_producer_name is True
    assert pb.CommandProducerSuccess().last_sequence_id == -1
    assert pb.CommandProducerSuccess().producer_ready is True
    assert pb.CommandSend().num_messages == 1
    assert pb.MessageMetadata().num_messages_in_batch == 1
    assert pb.MessageIdData().partition == -1
    assert pb.MessageIdData().batch_index == -1
    assert pb.CommandPartitionedTopicMetadata().metadata_auto_creation_enabled is True
    assert pb.CommandGetTopicsOfNamespaceResponse().changed is True
