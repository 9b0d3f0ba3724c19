// Calls of kafka-go: its Writer and Reader with their defaults, and its Client.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"

	"kraftproof/clients/calls"
)

const (
	topic = "kafka-go"
	group = "kafka-go"
	count = 10 // records of one call
)

type asks struct{ *kafka.Client }

func main() {
	a := asks{&kafka.Client{Addr: kafka.TCP(calls.Brokers()...)}}
	var all []calls.Call
	for _, some := range [][]calls.Call{
		a.cluster(), a.topics(), a.configs(), producing(), a.offsets(), a.groups(), a.partitions(), a.security(), a.transactions(), a.removals(),
	} {
		all = append(all, some...)
	}
	calls.Run(all)
}

// in is the one error of an answer to several questions.
func in[K comparable](errs map[K]error) (err error) {
	for _, each := range errs {
		err = errors.Join(err, each)
	}
	return err
}

func (a asks) cluster() []calls.Call {
	return []calls.Call{
		{"ApiVersions of all brokers", func(ctx context.Context) error {
			for _, broker := range calls.Brokers() {
				found, err := a.ApiVersions(ctx, &kafka.ApiVersionsRequest{Addr: kafka.TCP(broker)})
				if err != nil {
					return err
				}
				if found.Error != nil {
					return found.Error
				}
			}
			return nil
		}},
		{"Metadata of brokers", func(ctx context.Context) error {
			found, err := a.Metadata(ctx, &kafka.MetadataRequest{})
			if err != nil {
				return err
			}
			return calls.That(len(found.Brokers) == 3, "%+v", found)
		}},
	}
}

func (a asks) topics() []calls.Call {
	made := func(ctx context.Context, name string, validate bool) error {
		found, err := a.CreateTopics(ctx, &kafka.CreateTopicsRequest{
			Topics: []kafka.TopicConfig{{Topic: name, NumPartitions: 3, ReplicationFactor: 3}}, ValidateOnly: validate,
		})
		if err != nil {
			return err
		}
		return in(found.Errors)
	}
	return []calls.Call{
		{"CreateTopics", func(ctx context.Context) error { return made(ctx, topic, false) }},
		{"CreateTopics, of one that is there: TOPIC_ALREADY_EXISTS", func(ctx context.Context) error {
			return calls.Refused(made(ctx, topic, false), kafka.TopicAlreadyExists)
		}},
		{"CreateTopics, validated only", func(ctx context.Context) error { return made(ctx, "kafka-go-never", true) }},
		{"CreatePartitions", func(ctx context.Context) error {
			found, err := a.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: 4}}})
			if err != nil {
				return err
			}
			return in(found.Errors)
		}},
		{"Metadata of a topic", func(ctx context.Context) error {
			return a.until(ctx, func(found kafka.Topic) bool { return len(found.Partitions) == 4 })
		}},
	}
}

// until metadata show the topic so. The client answers from what it knows, which it renews.
func (a asks) until(ctx context.Context, holds func(kafka.Topic) bool) error {
	return calls.Await(ctx, func() (bool, error) {
		found, err := a.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
		return err == nil && len(found.Topics) == 1 && holds(found.Topics[0]), err
	})
}

func (a asks) configs() []calls.Call {
	altered := func(ctx context.Context, kind kafka.ResourceType, resource, name, value string) error {
		found, err := a.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kind, ResourceName: resource,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: name, Value: value, ConfigOperation: kafka.ConfigOperationSet}},
		}}})
		if err != nil {
			return err
		}
		return found.Resources[0].Error
	}
	return []calls.Call{
		{"IncrementalAlterConfigs of a topic", func(ctx context.Context) error {
			return altered(ctx, kafka.ResourceTypeTopic, topic, "min.insync.replicas", "2")
		}},
		{"DescribeConfigs of a topic", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) {
				value, err := a.config(ctx, kafka.ResourceTypeTopic, topic, "min.insync.replicas")
				return value == "2", err
			})
		}},
		{"AlterConfigs of a topic", func(ctx context.Context) error {
			found, err := a.AlterConfigs(ctx, &kafka.AlterConfigsRequest{Resources: []kafka.AlterConfigRequestResource{{
				ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, Configs: []kafka.AlterConfigRequestConfig{{Name: "max.message.bytes", Value: "900000"}},
			}}})
			if err != nil {
				return err
			}
			return in(found.Errors)
		}},
		{"IncrementalAlterConfigs of a broker", func(ctx context.Context) error {
			return altered(ctx, kafka.ResourceTypeBroker, "2", "message.max.bytes", "900000")
		}},
		{"DescribeConfigs of a broker", func(ctx context.Context) error {
			node, err := a.config(ctx, kafka.ResourceTypeBroker, "2", "node.id")
			broker, again := a.config(ctx, kafka.ResourceTypeBroker, "2", "broker.id")
			return errors.Join(err, again, calls.That(node+broker != "", "neither node.id nor broker.id"))
		}},
	}
}

func (a asks) config(ctx context.Context, kind kafka.ResourceType, resource, name string) (string, error) {
	found, err := a.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{
		{ResourceType: kind, ResourceName: resource, ConfigNames: []string{name}},
	}})
	if err != nil {
		return "", err
	}
	if one := found.Resources[0]; one.Error != nil || len(one.ConfigEntries) == 0 {
		return "", one.Error
	}
	return found.Resources[0].ConfigEntries[0].ConfigValue, nil
}

func producing() []calls.Call {
	into := func(name string, writer *kafka.Writer) calls.Call {
		return calls.Call{Name: name, Do: func(ctx context.Context) error { return written(ctx, writer) }}
	}
	packed := func(codec kafka.Compression) *kafka.Writer {
		return &kafka.Writer{Topic: topic, RequiredAcks: kafka.RequireAll, Compression: codec}
	}
	return []calls.Call{
		into("Produce with the defaults (acks=0)", &kafka.Writer{Topic: topic}),
		into("Produce, acks=all, not idempotent", &kafka.Writer{Topic: topic, RequiredAcks: kafka.RequireAll}),
		into("Produce, acks=1", &kafka.Writer{Topic: topic, RequiredAcks: kafka.RequireOne}),
		into("Produce, gzip", packed(kafka.Gzip)),
		into("Produce, snappy", packed(kafka.Snappy)),
		into("Produce, lz4", packed(kafka.Lz4)),
		into("Produce, zstd", packed(kafka.Zstd)),
		{"Produce to a topic that nobody made", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) { // its users are to try again while it is being made
				err := written(ctx, &kafka.Writer{Topic: "kafka-go-made-on-the-way", AllowAutoTopicCreation: true})
				if errors.Is(err, kafka.UnknownTopicOrPartition) || errors.Is(err, kafka.LeaderNotAvailable) {
					return false, nil
				}
				return err == nil, err
			})
		}},
		{"Fetch from the beginning", func(ctx context.Context) error { return fetched(ctx, 7*count) }},
	}
}

func written(ctx context.Context, writer *kafka.Writer) error {
	writer.Addr = kafka.TCP(calls.Brokers()...)
	all := make([]kafka.Message, count)
	for number := range all {
		all[number] = kafka.Message{Value: fmt.Append(nil, number)}
	}
	return errors.Join(writer.WriteMessages(ctx, all...), writer.Close())
}

// All partitions side by side, until so many records came.
func fetched(ctx context.Context, wanted int) error {
	records := make(chan error)
	for number := range 4 {
		reader := kafka.NewReader(kafka.ReaderConfig{Brokers: calls.Brokers(), Topic: topic, Partition: number})
		defer func() { go reader.Close() }() // which waits for its last fetch, 10 s
		go func() {
			for {
				_, err := reader.ReadMessage(ctx)
				select {
				case records <- err:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	for found := range wanted {
		select {
		case err := <-records:
			if err != nil {
				return fmt.Errorf("%d of %d records: %w", found, wanted, err)
			}
		case <-ctx.Done():
			return fmt.Errorf("%d of %d records: %w", found, wanted, ctx.Err())
		}
	}
	return nil
}

func (a asks) offsets() []calls.Call {
	listed := func(at int64) func(context.Context) error {
		return func(ctx context.Context) error {
			found, err := a.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: {
				{Partition: 0, Timestamp: at}, {Partition: 1, Timestamp: at}, {Partition: 2, Timestamp: at}, {Partition: 3, Timestamp: at},
			}}})
			if err != nil {
				return err
			}
			for _, each := range found.Topics[topic] {
				err = errors.Join(err, each.Error)
			}
			return errors.Join(err, calls.That(len(found.Topics[topic]) == 4, "%+v", found))
		}
	}
	return []calls.Call{
		{"ListOffsets, earliest", listed(kafka.FirstOffset)},
		{"ListOffsets, latest", listed(kafka.LastOffset)},
		{"ListOffsets, of the largest timestamp", listed(-3)},
		{"ListOffsets, after a time", listed(time.Now().Add(-time.Hour).UnixMilli())},
	}
}

func (a asks) groups() []calls.Call {
	return []calls.Call{
		{"FindCoordinator", func(ctx context.Context) error {
			found, err := a.coordinator(ctx, kafka.CoordinatorKeyTypeConsumer)
			if err != nil {
				return err
			}
			return found.Error
		}},
		{"a group: join, fetch, commit, leave", joined},
		{"ListGroups", func(ctx context.Context) error {
			found, err := a.ListGroups(ctx, &kafka.ListGroupsRequest{})
			if err != nil {
				return err
			}
			for _, each := range found.Groups {
				if each.GroupID == group {
					return found.Error
				}
			}
			return fmt.Errorf("%+v", found)
		}},
		{"DescribeGroups", func(ctx context.Context) error {
			found, err := a.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
			if err != nil {
				return err
			}
			one := found.Groups[0]
			return errors.Join(one.Error, calls.That(one.GroupState == "Empty", "%+v", one))
		}},
		{"OffsetFetch", func(ctx context.Context) error {
			found, err := a.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: {0, 1, 2, 3}}})
			if err != nil {
				return err
			}
			return errors.Join(found.Error, calls.That(len(found.Topics[topic]) == 4, "%+v", found))
		}},
		{"OffsetCommit by an administrator", func(ctx context.Context) error {
			found, err := a.OffsetCommit(ctx, &kafka.OffsetCommitRequest{GroupID: group, GenerationID: -1, Topics: map[string][]kafka.OffsetCommit{topic: {{Partition: 0}}}})
			if err != nil {
				return err
			}
			return found.Topics[topic][0].Error
		}},
		{"OffsetDelete", func(ctx context.Context) error {
			found, err := a.OffsetDelete(ctx, &kafka.OffsetDeleteRequest{GroupID: group, Topics: map[string][]int{topic: {0}}})
			if err != nil {
				return err
			}
			return errors.Join(found.Error, found.Topics[topic][0].Error)
		}},
		{"DeleteGroups", func(ctx context.Context) error {
			found, err := a.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
			if err != nil {
				return err
			}
			return in(found.Errors)
		}},
	}
}

// coordinator of the group, or of the transactional id of that name.
func (a asks) coordinator(ctx context.Context, of kafka.CoordinatorKeyType) (*kafka.FindCoordinatorResponse, error) {
	return a.FindCoordinator(ctx, &kafka.FindCoordinatorRequest{Key: group, KeyType: of})
}

// One member reads what others have sent, commits, and closes.
func joined(ctx context.Context) error {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: calls.Brokers(), Topic: topic, GroupID: group})
	for range count {
		record, err := reader.FetchMessage(ctx)
		if err == nil {
			err = reader.CommitMessages(ctx, record)
		}
		if err != nil {
			return errors.Join(err, reader.Close())
		}
	}
	return reader.Close()
}

func (a asks) partitions() []calls.Call {
	return []calls.Call{
		{"ElectLeaders, preferred", func(ctx context.Context) error {
			found, err := a.ElectLeaders(ctx, &kafka.ElectLeadersRequest{Topic: topic, Partitions: []int{0, 1, 2, 3}, Timeout: calls.Longest})
			if err != nil {
				return err
			}
			err = found.Error
			for _, each := range found.PartitionResults {
				if !errors.Is(each.Error, kafka.ElectionNotNeeded) {
					err = errors.Join(err, each.Error)
				}
			}
			return err
		}},
		{"AlterPartitionReassignments", func(ctx context.Context) error {
			found, err := a.AlterPartitionReassignments(ctx, &kafka.AlterPartitionReassignmentsRequest{
				Topic: topic, Assignments: []kafka.AlterPartitionReassignmentsRequestAssignment{{PartitionID: 0, BrokerIDs: []int{2, 3}}}, Timeout: calls.Longest,
			})
			if err != nil {
				return err
			}
			return errors.Join(found.Error, found.PartitionResults[0].Error)
		}},
		{"ListPartitionReassignments, until none is left", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) {
				found, err := a.ListPartitionReassignments(ctx, &kafka.ListPartitionReassignmentsRequest{Timeout: calls.Longest})
				if err != nil {
					return false, err
				}
				return len(found.Topics) == 0, found.Error
			})
		}},
		{"Metadata of what was moved", func(ctx context.Context) error {
			return a.until(ctx, func(found kafka.Topic) bool { return len(found.Partitions[0].Replicas) == 2 })
		}},
	}
}

func (a asks) security() []calls.Call {
	return []calls.Call{
		{"DescribeAcls", func(ctx context.Context) error {
			found, err := a.DescribeACLs(ctx, &kafka.DescribeACLsRequest{Filter: kafka.ACLFilter{
				ResourceTypeFilter: kafka.ResourceTypeAny, ResourcePatternTypeFilter: kafka.PatternTypeAny,
				Operation: kafka.ACLOperationTypeAny, PermissionType: kafka.ACLPermissionTypeAny,
			}})
			if err != nil {
				return err
			}
			return found.Error
		}},
		{"DescribeUserScramCredentials", func(ctx context.Context) error {
			found, err := a.DescribeUserScramCredentials(ctx, &kafka.DescribeUserScramCredentialsRequest{})
			if err != nil {
				return err
			}
			return found.Error
		}},
		{"AlterUserScramCredentials", func(ctx context.Context) error {
			found, err := a.AlterUserScramCredentials(ctx, &kafka.AlterUserScramCredentialsRequest{Upsertions: []kafka.UserScramCredentialsUpsertion{
				{Name: "kafka-go", Mechanism: kafka.ScramMechanismSha256, Iterations: 4096, Salt: []byte("salt"), SaltedPassword: []byte("secret")},
			}})
			if err != nil {
				return err
			}
			return found.Results[0].Error
		}},
		{"DescribeClientQuotas", func(ctx context.Context) error {
			found, err := a.DescribeClientQuotas(ctx, &kafka.DescribeClientQuotasRequest{})
			if err != nil {
				return err
			}
			return found.Error
		}},
		{"AlterClientQuotas", func(ctx context.Context) error {
			found, err := a.AlterClientQuotas(ctx, &kafka.AlterClientQuotasRequest{Entries: []kafka.AlterClientQuotaEntry{{
				Entities: []kafka.AlterClientQuotaEntity{{EntityType: "user", EntityName: "kafka-go"}},
				Ops:      []kafka.AlterClientQuotaOps{{Key: "producer_byte_rate", Value: 1e6}},
			}}})
			if err != nil {
				return err
			}
			return found.Entries[0].Error
		}},
	}
}

func (a asks) transactions() []calls.Call {
	return []calls.Call{
		{"InitProducerId of a transactional id", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) { // its users are to try again while there is no coordinator
				err := a.initialized(ctx)
				for _, passing := range []error{kafka.GroupCoordinatorNotAvailable, kafka.NotCoordinatorForGroup, kafka.GroupLoadInProgress} {
					if errors.Is(err, passing) {
						return false, nil
					}
				}
				return err == nil, err
			})
		}},
	}
}

func (a asks) initialized(ctx context.Context) error {
	found, err := a.coordinator(ctx, kafka.CoordinatorKeyTypeTransaction)
	if err != nil {
		return err
	}
	if found.Error != nil {
		return found.Error
	}
	at := kafka.TCP(net.JoinHostPort(found.Coordinator.Host, strconv.Itoa(found.Coordinator.Port)))
	given, err := a.InitProducerID(ctx, &kafka.InitProducerIDRequest{Addr: at, TransactionalID: "kafka-go", TransactionTimeoutMs: 10_000})
	if err != nil {
		return err
	}
	return given.Error
}

func (a asks) removals() []calls.Call {
	return []calls.Call{
		{"DeleteTopics", func(ctx context.Context) error {
			found, err := a.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic, "kafka-go-made-on-the-way"}})
			if err != nil {
				return err
			}
			return in(found.Errors)
		}},
		{"Metadata of a topic that is gone: UNKNOWN_TOPIC_OR_PARTITION", func(ctx context.Context) error {
			return a.until(ctx, func(found kafka.Topic) bool { return errors.Is(found.Error, kafka.UnknownTopicOrPartition) })
		}},
	}
}
