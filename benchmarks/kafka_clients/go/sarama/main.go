// Calls of sarama: producers and consumers with their defaults, and its ClusterAdmin. That one speaks
// what its configuration's version has, so it is told the newest.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"

	"kraftproof/clients/calls"
)

const (
	topic = "sarama"
	group = "sarama"
	count = 10 // records of one call
)

type admin struct {
	sarama.ClusterAdmin
	client sarama.Client
}

func main() {
	client, err := sarama.NewClient(calls.Brokers(), newest())
	if err != nil {
		panic(err)
	}
	cluster, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		panic(err)
	}
	a := admin{cluster, client}
	var all []calls.Call
	for _, some := range [][]calls.Call{
		a.cluster(), a.topics(), a.configs(), producing(), a.offsets(), a.groups(), a.partitions(), a.security(), a.transactions(), a.removals(),
	} {
		all = append(all, some...)
	}
	calls.Run(all)
}

func newest() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	return config
}

// named is a call of a client that knows no contexts: the time that calls may take bounds it.
func named(name string, do func() error) calls.Call {
	return calls.Call{Name: name, Do: func(context.Context) error { return do() }}
}

func (a admin) cluster() []calls.Call {
	return []calls.Call{
		named("ApiVersions of all brokers", func() error {
			for _, broker := range a.client.Brokers() {
				if err := a.asked(broker, func() error {
					found, err := broker.ApiVersions(&sarama.ApiVersionsRequest{Version: 3, ClientSoftwareName: "sarama", ClientSoftwareVersion: "1"})
					if err != nil {
						return err
					}
					return failure(sarama.KError(found.ErrorCode))
				}); err != nil {
					return err
				}
			}
			return calls.That(len(a.client.Brokers()) == 3, "%d brokers", len(a.client.Brokers()))
		}),
		named("DescribeCluster", func() error {
			found, controller, err := a.DescribeCluster()
			return errors.Join(err, calls.That(len(found) == 3 && controller >= 0, "%d brokers, controller %d", len(found), controller))
		}),
		named("UpdateFeatures", a.features),
	}
}

// asked makes sure of the connection before a broker is asked by itself.
func (a admin) asked(broker *sarama.Broker, what func() error) error {
	if err := broker.Open(a.client.Config()); err != nil && !errors.Is(err, sarama.ErrAlreadyConnected) {
		return err
	}
	return what()
}

// Each finalized feature at the level that it has: sarama cannot ask to validate only.
func (a admin) features() error {
	controller, err := a.Controller()
	if err != nil {
		return err
	}
	found, err := controller.ApiVersions(&sarama.ApiVersionsRequest{Version: 3, ClientSoftwareName: "sarama", ClientSoftwareVersion: "1"})
	if err != nil {
		return err
	}
	var same []sarama.FeatureUpdate
	for _, feature := range found.FinalizedFeatures {
		if feature.MaxVersionLevel > 0 {
			same = append(same, sarama.FeatureUpdate{Feature: feature.Name, MaxVersionLevel: feature.MaxVersionLevel})
		}
	}
	if err := calls.That(len(same) > 0, "no finalized feature"); err != nil {
		return err
	}
	results, err := a.UpdateFeatures(same)
	for _, each := range results {
		err = errors.Join(err, failure(each.ErrorCode))
	}
	return err
}

func failure(code sarama.KError) error {
	if code == sarama.ErrNoError {
		return nil
	}
	return code
}

func (a admin) topics() []calls.Call {
	detail := &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 3}
	return []calls.Call{
		named("CreateTopics", func() error { return a.CreateTopic(topic, detail, false) }),
		named("CreateTopics, of one that is there: TOPIC_ALREADY_EXISTS", func() error {
			return calls.Refused(a.CreateTopic(topic, detail, false), sarama.ErrTopicAlreadyExists)
		}),
		named("CreateTopics, validated only", func() error { return a.CreateTopic("sarama-never", detail, true) }),
		named("CreatePartitions", func() error { return a.CreatePartitions(topic, 4, nil, false) }),
		{"Metadata of a topic", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) {
				found, err := a.DescribeTopics([]string{topic})
				return err == nil && len(found[0].Partitions) == 4, err
			})
		}},
		named("Metadata of all topics", func() error {
			found, err := a.ListTopics()
			return errors.Join(err, calls.That(found[topic].NumPartitions == 4, "%+v", found))
		}),
	}
}

func (a admin) configs() []calls.Call {
	two, bytes := "2", "900000"
	set := func(value *string) sarama.IncrementalAlterConfigsEntry {
		return sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: value}
	}
	return []calls.Call{
		named("IncrementalAlterConfigs of a topic", func() error {
			return a.IncrementalAlterConfig(sarama.TopicResource, topic, map[string]sarama.IncrementalAlterConfigsEntry{"min.insync.replicas": set(&two)}, false)
		}),
		{"DescribeConfigs of a topic", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) {
				value, err := a.config(sarama.TopicResource, topic, "min.insync.replicas")
				return value == "2", err
			})
		}},
		named("AlterConfigs of a topic", func() error {
			return a.AlterConfig(sarama.TopicResource, topic, map[string]*string{"max.message.bytes": &bytes}, false)
		}),
		named("IncrementalAlterConfigs of all brokers", func() error {
			return a.IncrementalAlterConfig(sarama.BrokerResource, "", map[string]sarama.IncrementalAlterConfigsEntry{"message.max.bytes": set(&bytes)}, false)
		}),
		named("DescribeConfigs of a broker", func() error {
			node, err := a.config(sarama.BrokerResource, "2", "node.id")
			broker, again := a.config(sarama.BrokerResource, "2", "broker.id")
			return errors.Join(err, again, calls.That(node+broker != "", "neither node.id nor broker.id"))
		}),
	}
}

func (a admin) config(kind sarama.ConfigResourceType, name, key string) (string, error) {
	found, err := a.DescribeConfig(sarama.ConfigResource{Type: kind, Name: name, ConfigNames: []string{key}})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].Value, nil
}

func producing() []calls.Call {
	into := func(name, topic string, with func(*sarama.Config)) calls.Call {
		return named(name, func() error { return produced(topic, with) })
	}
	packed := func(codec sarama.CompressionCodec) func(*sarama.Config) {
		return func(config *sarama.Config) { config.Producer.Compression = codec }
	}
	return []calls.Call{
		into("Produce with the defaults (acks=1)", topic, func(*sarama.Config) {}),
		into("Produce, acks=all, idempotent", topic, idempotent),
		into("Produce, acks=all, not idempotent", topic, func(config *sarama.Config) { config.Producer.RequiredAcks = sarama.WaitForAll }),
		into("Produce, gzip", topic, packed(sarama.CompressionGZIP)),
		into("Produce, snappy", topic, packed(sarama.CompressionSnappy)),
		into("Produce, lz4", topic, packed(sarama.CompressionLZ4)),
		into("Produce, zstd", topic, packed(sarama.CompressionZSTD)),
		into("Produce to a topic that nobody made", "sarama-made-on-the-way", func(*sarama.Config) {}),
		{"Fetch from the beginning", func(ctx context.Context) error { return fetched(ctx, 7*count) }},
	}
}

func idempotent(config *sarama.Config) {
	config.Producer.RequiredAcks, config.Producer.Idempotent, config.Net.MaxOpenRequests = sarama.WaitForAll, true, 1
}

func messages(topic string) []*sarama.ProducerMessage {
	all := make([]*sarama.ProducerMessage, count)
	for number := range all {
		all[number] = &sarama.ProducerMessage{Topic: topic, Value: sarama.ByteEncoder(fmt.Append(nil, number))}
	}
	return all
}

func produced(topic string, with func(*sarama.Config)) error {
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true // which a synchronous producer wants
	with(config)
	producer, err := sarama.NewSyncProducer(calls.Brokers(), config)
	if err != nil {
		return err
	}
	return errors.Join(producer.SendMessages(messages(topic)), producer.Close())
}

func fetched(ctx context.Context, wanted int) error {
	consumer, err := sarama.NewConsumer(calls.Brokers(), sarama.NewConfig())
	if err != nil {
		return err
	}
	defer consumer.Close()
	records := make(chan *sarama.ConsumerMessage)
	partitions, err := consumer.Partitions(topic)
	for _, number := range partitions {
		one, failed := consumer.ConsumePartition(topic, number, sarama.OffsetOldest)
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		defer one.Close()
		go func() {
			for record := range one.Messages() {
				select {
				case records <- record:
				case <-ctx.Done():
				}
			}
		}()
	}
	for found := range wanted {
		select {
		case <-records:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d records: %w", found, wanted, ctx.Err())
		}
	}
	return err
}

func (a admin) offsets() []calls.Call {
	return []calls.Call{
		named("ListOffsets, earliest", func() error {
			_, err := a.listed(sarama.OffsetOldest)
			return err
		}),
		named("ListOffsets, latest", func() error {
			found, err := a.listed(sarama.OffsetNewest)
			records := int64(0)
			for _, each := range found {
				records += each.Offset
			}
			return errors.Join(err, calls.That(records == 7*count, "%d records", records))
		}),
		named("ListOffsets, of the largest timestamp", func() error {
			_, err := a.listed(-3)
			return err
		}),
		named("ListOffsets, after a time", func() error {
			_, err := a.listed(time.Now().Add(-time.Hour).UnixMilli())
			return err
		}),
		named("DeleteRecords", func() error {
			ends, err := a.listed(sarama.OffsetNewest)
			if err != nil {
				return err
			}
			before := map[int32]int64{}
			for number, each := range ends {
				before[number] = each.Offset
			}
			if err := a.DeleteRecords(topic, before); err != nil {
				return err
			}
			starts, err := a.listed(sarama.OffsetOldest)
			return errors.Join(err, calls.That(starts[0].Offset == ends[0].Offset, "%+v", starts[0]))
		}),
		named("DescribeProducers", func() error {
			leader, err := a.client.Leader(topic, 0)
			if err != nil {
				return err
			}
			found, err := leader.DescribeProducers(&sarama.DescribeProducersRequest{Topics: []sarama.DescribeProducersRequestTopic{{Name: topic, PartitionIndexes: []int32{0}}}})
			if err != nil {
				return err
			}
			return failure(found.Topics[0].Partitions[0].ErrorCode)
		}),
	}
}

func (a admin) listed(at int64) (map[int32]*sarama.OffsetResult, error) {
	found, err := a.ListOffsets(map[string]map[int32]int64{topic: {0: at, 1: at, 2: at, 3: at}}, nil)
	if err != nil {
		return nil, err
	}
	for _, each := range found[topic] {
		if !errors.Is(each.Err, sarama.ErrNoError) { // which it takes for an error
			err = errors.Join(err, each.Err)
		}
	}
	return found[topic], errors.Join(err, calls.That(len(found[topic]) == 4, "%+v", found))
}

func (a admin) groups() []calls.Call {
	none := func(*sarama.Config) {}
	return []calls.Call{
		named("FindCoordinator", func() error {
			_, err := a.Coordinator(group)
			return err
		}),
		{"a group: join, fetch, commit, leave", func(ctx context.Context) error { return joined(ctx, group, none) }},
		{"a static member: join, fetch, commit", func(ctx context.Context) error {
			return joined(ctx, "sarama-static", func(config *sarama.Config) { config.Consumer.Group.InstanceId = "one" })
		}},
		named("LeaveGroup, of a static member by an administrator", func() error {
			found, err := a.RemoveMemberFromConsumerGroup("sarama-static", []string{"one"})
			if err != nil {
				return err
			}
			return failure(found.Err)
		}),
		named("ListGroups", func() error {
			found, err := a.ListConsumerGroups()
			return errors.Join(err, calls.That(found[group] == "consumer", "%+v", found))
		}),
		named("DescribeGroups", func() error {
			found, err := a.DescribeConsumerGroups([]string{group})
			if err != nil {
				return err
			}
			return errors.Join(failure(found[0].Err), calls.That(found[0].State == "Empty", "%+v", found[0]))
		}),
		named("OffsetFetch", func() error {
			found, err := a.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0, 1, 2, 3}})
			if err != nil {
				return err
			}
			return errors.Join(failure(found.Err), calls.That(len(found.Blocks[topic]) == 4, "%+v", found))
		}),
		named("OffsetCommit by an administrator", func() error {
			found, err := a.AlterConsumerGroupOffsets(group, map[string]map[int32]sarama.OffsetAndMetadata{topic: {0: {Offset: 0, LeaderEpoch: -1}}}, nil)
			if err != nil {
				return err
			}
			return failure(found.Errors[topic][0])
		}),
		named("OffsetDelete", func() error { return a.DeleteConsumerGroupOffset(group, topic, 0) }),
		named("DeleteGroups", func() error { return a.DeleteConsumerGroup(group) }),
	}
}

// One member reads what others have just sent, commits, and closes.
func joined(ctx context.Context, group string, with func(*sarama.Config)) error {
	if err := produced(topic, func(*sarama.Config) {}); err != nil {
		return err
	}
	config := sarama.NewConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	with(config)
	member, err := sarama.NewConsumerGroup(calls.Brokers(), group, config)
	if err != nil {
		return err
	}
	enough, cancel := context.WithCancel(ctx)
	defer cancel()
	reads := &reader{records: make(chan struct{}, 100*count)}
	ended := make(chan error, 1)
	go func() { ended <- member.Consume(enough, []string{topic}, reads) }()
	for found := range count {
		select {
		case <-reads.records:
		case err := <-ended:
			return errors.Join(fmt.Errorf("%d of %d records", found, count), err, member.Close())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%d of %d records: %w", found, count, ctx.Err()), member.Close())
		}
	}
	cancel()
	return errors.Join(<-ended, member.Close())
}

// reader tells of each record, and commits what was read when its session ends.
type reader struct{ records chan struct{} }

func (*reader) Setup(sarama.ConsumerGroupSession) error { return nil }

func (*reader) Cleanup(session sarama.ConsumerGroupSession) error {
	session.Commit()
	return nil
}

func (r *reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for record := range claim.Messages() {
		session.MarkMessage(record, "")
		r.records <- struct{}{}
	}
	return nil
}

func (a admin) partitions() []calls.Call {
	return []calls.Call{
		named("ElectLeaders, preferred", func() error { return a.elected(sarama.PreferredElection) }),
		named("ElectLeaders, unclean, where none is needed", func() error { return a.elected(sarama.UncleanElection) }),
		named("AlterPartitionReassignments", func() error {
			return a.AlterPartitionReassignments(topic, [][]int32{{2, 3}, {3, 4}, {4, 2}, {2, 3}})
		}),
		{"ListPartitionReassignments, until none is left", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) {
				found, err := a.ListPartitionReassignments(topic, []int32{0, 1, 2, 3})
				return len(found[topic]) == 0, err
			})
		}},
		{"Metadata of what was moved", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) {
				found, err := a.DescribeTopics([]string{topic})
				return err == nil && len(found[0].Partitions[0].Replicas) == 2, err
			})
		}},
		named("DescribeLogDirs", func() error {
			found, err := a.DescribeLogDirs([]int32{2, 3, 4})
			for _, directories := range found {
				for _, each := range directories {
					err = errors.Join(err, failure(each.ErrorCode))
				}
			}
			return errors.Join(err, calls.That(len(found) == 3, "%d brokers", len(found)))
		}),
	}
}

func (a admin) elected(how sarama.ElectionType) error {
	found, err := a.ElectLeaders(how, map[string][]int32{topic: {0, 1, 2, 3}})
	for _, each := range found[topic] {
		if each.ErrorCode != sarama.ErrElectionNotNeeded {
			err = errors.Join(err, failure(each.ErrorCode))
		}
	}
	return err
}

func (a admin) security() []calls.Call {
	return []calls.Call{
		named("DescribeAcls", func() error {
			_, err := a.ListAcls(sarama.AclFilter{
				ResourceType: sarama.AclResourceAny, ResourcePatternTypeFilter: sarama.AclPatternAny,
				Operation: sarama.AclOperationAny, PermissionType: sarama.AclPermissionAny,
			})
			return err
		}),
		named("DescribeUserScramCredentials", func() error {
			_, err := a.DescribeUserScramCredentials(nil)
			return err
		}),
		named("AlterUserScramCredentials", func() error {
			found, err := a.UpsertUserScramCredentials([]sarama.AlterUserScramCredentialsUpsert{
				{Name: "sarama", Mechanism: sarama.SCRAM_MECHANISM_SHA_256, Iterations: 4096, Salt: []byte("salt"), Password: []byte("secret")},
			})
			for _, each := range found {
				err = errors.Join(err, failure(each.ErrorCode))
			}
			return err
		}),
		named("DescribeClientQuotas", func() error {
			_, err := a.DescribeClientQuotas(nil, false)
			return err
		}),
		named("AlterClientQuotas", func() error {
			user := []sarama.QuotaEntityComponent{{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchExact, Name: "sarama"}}
			return a.AlterClientQuotas(user, sarama.ClientQuotasOp{Key: "producer_byte_rate", Value: 1e6}, false)
		}),
	}
}

func (a admin) transactions() []calls.Call {
	return []calls.Call{
		named("a transaction: begin, produce, commit", transacted),
		named("ListTransactions", func() error {
			broker, err := a.Controller()
			if err != nil {
				return err
			}
			found, err := broker.ListTransactions(&sarama.ListTransactionsRequest{DurationFilter: -1})
			if err != nil {
				return err
			}
			return failure(found.ErrorCode)
		}),
	}
}

func transacted() error {
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	config.Producer.Transaction.ID = "sarama"
	idempotent(config)
	producer, err := sarama.NewSyncProducer(calls.Brokers(), config)
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	if err := producer.SendMessages(messages(topic)); err != nil {
		return err
	}
	return producer.CommitTxn()
}

func (a admin) removals() []calls.Call {
	return []calls.Call{
		named("DeleteTopics", func() error {
			return errors.Join(a.DeleteTopic(topic), a.DeleteTopic("sarama-made-on-the-way"))
		}),
		{"Metadata of a topic that is gone: UNKNOWN_TOPIC_OR_PARTITION", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) {
				found, err := a.DescribeTopics([]string{topic})
				return err == nil && errors.Is(found[0].Err, sarama.ErrUnknownTopicOrPartition), err
			})
		}},
	}
}
