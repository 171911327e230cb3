"""Two workers share the orders of all customers; the orders of one customer are at one worker, in order."""

import pulsar

client = pulsar.Client("pulsar://localhost:6650", logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Warn))
workers = {
    name: client.subscribe("orders", "billing", pulsar.ConsumerType.KeyShared, consumer_name=name)
    for name in ("worker-0", "worker-1")
}

# A batch goes to one worker as a whole: so let each batch be of one key.
producer = client.create_producer("orders", batching_enabled=True, batching_type=pulsar.BatchingType.KeyBased)
for number in range(1, 4):
    for customer in ("alice", "bob", "dave"):
        producer.send_async(b"order %d" % number, None, partition_key=customer)
producer.flush()

for name, worker in workers.items():
    while True:
        try:
            message = worker.receive(timeout_millis=500)
        except pulsar.Timeout:
            break
        print(f"{name}: {message.partition_key()}, {message.data().decode()}")
        worker.acknowledge(message)
client.close()
