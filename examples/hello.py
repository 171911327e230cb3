"""Say hello through a broker: start one with `magnetar standalone --data ./data`, then run this."""

import pulsar

client = pulsar.Client("pulsar://localhost:6650", logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Warn))
consumer = client.subscribe("greetings", subscription_name="me")
producer = client.create_producer("greetings")
producer.send(b"hello")

message = consumer.receive()
print(message.data().decode())
consumer.acknowledge(message)
client.close()
