// Calls of franz-go: its client with its defaults, and kadm, its administrator.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kraftproof/clients/calls"
)

const (
	topic = "franz-go"
	group = "franz-go"
	count = 10 // records of one call
)

type franz struct {
	client *kgo.Client
	admin  *kadm.Client
}

func main() {
	client := opened(kgo.AllowAutoTopicCreation())
	defer client.Close()
	f := franz{client, kadm.NewClient(client)}
	var all []calls.Call
	for _, some := range [][]calls.Call{
		f.cluster(), f.topics(), f.configs(), producing(), f.offsets(), f.groups(), f.partitions(), f.security(), f.transactions(), f.removals(),
	} {
		all = append(all, some...)
	}
	calls.Run(all)
}

func opened(options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(calls.Brokers()...))...)
	if err != nil {
		panic(err) // of its configuration: nothing is asked of a broker yet
	}
	return client
}

func (f franz) cluster() []calls.Call {
	return []calls.Call{
		{"ApiVersions of all brokers", func(ctx context.Context) error {
			found, err := f.admin.ApiVersions(ctx)
			found.Each(func(each kadm.BrokerApiVersions) { err = errors.Join(err, each.Err) })
			return errors.Join(err, calls.That(len(found) == 3, "%d brokers", len(found)))
		}},
		{"Metadata of brokers", func(ctx context.Context) error {
			found, err := f.admin.BrokerMetadata(ctx)
			return errors.Join(err, calls.That(len(found.Brokers) == 3 && found.Controller >= 0, "%+v", found))
		}},
		{"DescribeCluster", func(ctx context.Context) error {
			found, err := kmsg.NewPtrDescribeClusterRequest().RequestWith(ctx, f.client)
			if err != nil {
				return err
			}
			return errors.Join(kerr.ErrorForCode(found.ErrorCode), calls.That(len(found.Brokers) == 3, "%d brokers", len(found.Brokers)))
		}},
		{"DescribeQuorum", f.quorum},
		{"UpdateFeatures, validated only", f.features},
	}
}

func (f franz) quorum(ctx context.Context) error {
	asked := kmsg.NewPtrDescribeQuorumRequest()
	one := kmsg.NewDescribeQuorumRequestTopic()
	one.Topic = "__cluster_metadata"
	one.Partitions = append(one.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	asked.Topics = append(asked.Topics, one)
	found, err := asked.RequestWith(ctx, f.client)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(found.ErrorCode); err != nil {
		return err
	}
	partition := found.Topics[0].Partitions[0]
	return errors.Join(kerr.ErrorForCode(partition.ErrorCode), calls.That(len(partition.CurrentVoters) == 1, "%+v", partition))
}

// Each finalized feature at the level that it has.
func (f franz) features(ctx context.Context) error {
	found, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, f.client)
	if err != nil {
		return err
	}
	var same []kadm.FeatureUpdate
	for _, feature := range found.FinalizedFeatures {
		if feature.MaxVersionLevel > 0 {
			same = append(same, kadm.FeatureUpdate{Feature: feature.Name, MaxVersionLevel: feature.MaxVersionLevel, UpgradeType: 1})
		}
	}
	if err := calls.That(len(same) > 0, "no finalized feature"); err != nil {
		return err
	}
	updated, err := f.admin.UpdateFeatures(ctx, true, same...)
	return errors.Join(err, updated.Error())
}

func (f franz) topics() []calls.Call {
	return []calls.Call{
		{"CreateTopics", func(ctx context.Context) error {
			_, err := f.admin.CreateTopic(ctx, 3, 3, nil, topic)
			return err
		}},
		{"CreateTopics, of one that is there: TOPIC_ALREADY_EXISTS", func(ctx context.Context) error {
			_, err := f.admin.CreateTopic(ctx, 3, 3, nil, topic)
			return calls.Refused(err, kerr.TopicAlreadyExists)
		}},
		{"CreateTopics, validated only", func(ctx context.Context) error {
			found, err := f.admin.ValidateCreateTopics(ctx, 1, 3, nil, "franz-go-never")
			return errors.Join(err, found.Error())
		}},
		{"CreatePartitions", func(ctx context.Context) error {
			found, err := f.admin.UpdatePartitions(ctx, 4, topic)
			return errors.Join(err, found.Error())
		}},
		{"Metadata of a topic", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) {
				found, err := f.admin.ListTopics(ctx, topic)
				return len(found[topic].Partitions) == 4, errors.Join(err, found.Error())
			})
		}},
	}
}

func (f franz) configs() []calls.Call {
	set := func(name, value string) []kadm.AlterConfig {
		return []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}
	}
	altered := func(found kadm.AlterConfigsResponses, err error) error {
		for _, each := range found {
			err = errors.Join(err, each.Err)
		}
		return err
	}
	return []calls.Call{
		{"IncrementalAlterConfigs of a topic", func(ctx context.Context) error {
			return altered(f.admin.AlterTopicConfigs(ctx, set("min.insync.replicas", "2"), topic))
		}},
		{"DescribeConfigs of a topic", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) {
				found, err := f.admin.DescribeTopicConfigs(ctx, topic)
				return valueOf(found, "min.insync.replicas") == "2", err
			})
		}},
		{"AlterConfigs of a topic", func(ctx context.Context) error {
			return altered(f.admin.AlterTopicConfigsState(ctx, set("max.message.bytes", "900000"), topic))
		}},
		{"IncrementalAlterConfigs of all brokers", func(ctx context.Context) error {
			return altered(f.admin.AlterBrokerConfigs(ctx, set("message.max.bytes", "900000")))
		}},
		{"DescribeConfigs of a broker", func(ctx context.Context) error {
			found, err := f.admin.DescribeBrokerConfigs(ctx, 2)
			return errors.Join(err, calls.That(valueOf(found, "node.id")+valueOf(found, "broker.id") != "", "%+v", found))
		}},
		{"ListConfigResources", func(ctx context.Context) error {
			_, err := f.admin.ListConfigResources(ctx)
			return err
		}},
	}
}

func valueOf(found kadm.ResourceConfigs, name string) string {
	for _, resource := range found {
		for _, config := range resource.Configs {
			if config.Key == name && config.Value != nil {
				return *config.Value
			}
		}
	}
	return ""
}

func producing() []calls.Call {
	into := func(name, topic string, options ...kgo.Opt) calls.Call {
		return calls.Call{Name: name, Do: func(ctx context.Context) error { return produced(ctx, topic, options...) }}
	}
	return []calls.Call{
		into("Produce with the defaults (acks=all, idempotent)", topic),
		into("Produce, acks=all, not idempotent", topic, kgo.DisableIdempotentWrite()),
		into("Produce, acks=1", topic, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck())),
		into("Produce, gzip", topic, kgo.ProducerBatchCompression(kgo.GzipCompression())),
		into("Produce, snappy", topic, kgo.ProducerBatchCompression(kgo.SnappyCompression())),
		into("Produce, lz4", topic, kgo.ProducerBatchCompression(kgo.Lz4Compression())),
		into("Produce, zstd", topic, kgo.ProducerBatchCompression(kgo.ZstdCompression())),
		into("Produce to a topic that nobody made", "franz-go-made-on-the-way", kgo.AllowAutoTopicCreation()),
		{"Fetch from the beginning", func(ctx context.Context) error {
			client := opened(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			defer client.Close()
			return fetched(ctx, client, 7*count)
		}},
	}
}

func produced(ctx context.Context, topic string, options ...kgo.Opt) error {
	client := opened(options...)
	defer client.Close()
	return sent(ctx, client, topic)
}

func sent(ctx context.Context, client *kgo.Client, topic string) error {
	records := make([]*kgo.Record, count)
	for number := range records {
		records[number] = &kgo.Record{Topic: topic, Value: fmt.Append(nil, number)}
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

func fetched(ctx context.Context, client *kgo.Client, wanted int) error {
	found := 0
	for found < wanted {
		some := client.PollFetches(ctx)
		if err := some.Err(); err != nil {
			return fmt.Errorf("%d of %d records: %w", found, wanted, err)
		}
		found += some.NumRecords()
	}
	return nil
}

func (f franz) offsets() []calls.Call {
	listed := func(found kadm.ListedOffsets, err error) error {
		return errors.Join(err, found.Error(), calls.That(len(found[topic]) == 4, "%+v", found))
	}
	return []calls.Call{
		{"ListOffsets, earliest", func(ctx context.Context) error { return listed(f.admin.ListStartOffsets(ctx, topic)) }},
		{"ListOffsets, latest", func(ctx context.Context) error {
			found, err := f.admin.ListEndOffsets(ctx, topic)
			records := int64(0)
			found.Each(func(each kadm.ListedOffset) { records += each.Offset })
			return errors.Join(listed(found, err), calls.That(records == 7*count, "%d records", records))
		}},
		{"ListOffsets, of the largest timestamp", func(ctx context.Context) error { return listed(f.admin.ListMaxTimestampOffsets(ctx, topic)) }},
		{"ListOffsets, after a time", func(ctx context.Context) error {
			return listed(f.admin.ListOffsetsAfterMilli(ctx, time.Now().Add(-time.Hour).UnixMilli(), topic))
		}},
		{"OffsetForLeaderEpoch", func(ctx context.Context) error {
			var asked kadm.OffsetForLeaderEpochRequest
			asked.Add(topic, 0, 0)
			found, err := f.admin.OffsetForLeaderEpoch(ctx, asked)
			one := found[topic][0]
			return errors.Join(err, one.Err, calls.That(one.LeaderEpoch >= 0, "%+v", one))
		}},
		{"DeleteRecords", func(ctx context.Context) error {
			ends, err := f.admin.ListEndOffsets(ctx, topic)
			if err != nil {
				return err
			}
			found, err := f.admin.DeleteRecords(ctx, ends.Offsets())
			if err = errors.Join(err, found.Error()); err != nil {
				return err
			}
			starts, err := f.admin.ListStartOffsets(ctx, topic)
			return errors.Join(err, calls.That(starts[topic][0].Offset == ends[topic][0].Offset, "%+v", starts))
		}},
		{"DescribeProducers", func(ctx context.Context) error {
			found, err := f.admin.DescribeProducers(ctx, topics())
			found.EachPartition(func(each kadm.DescribedProducersPartition) { err = errors.Join(err, each.Err) })
			return errors.Join(err, calls.That(len(found.SortedProducers()) > 0, "no producer"))
		}},
	}
}

func topics() kadm.TopicsSet {
	var all kadm.TopicsSet
	all.Add(topic, 0, 1, 2, 3)
	return all
}

func (f franz) groups() []calls.Call {
	return []calls.Call{
		{"FindCoordinator", func(ctx context.Context) error { return f.admin.FindGroupCoordinators(ctx, group).Error() }},
		{"a group: join, fetch, commit, leave", func(ctx context.Context) error { return joined(ctx, group) }},
		{"a static member: join, fetch, commit", func(ctx context.Context) error {
			return joined(ctx, "franz-go-static", kgo.InstanceID("one"))
		}},
		{"LeaveGroup, of a static member by an administrator", func(ctx context.Context) error {
			found, err := f.admin.LeaveGroup(ctx, kadm.LeaveGroup("franz-go-static").InstanceIDs("one"))
			return errors.Join(err, found.Error())
		}},
		{"ListGroups", func(ctx context.Context) error {
			found, err := f.admin.ListGroups(ctx)
			return errors.Join(err, calls.That(found[group].ProtocolType == "consumer", "%+v", found))
		}},
		{"ListGroups, by type", func(ctx context.Context) error {
			found, err := f.admin.ListGroupsByType(ctx, []string{"classic"})
			return errors.Join(err, calls.That(found[group].ProtocolType == "consumer", "%+v", found))
		}},
		{"DescribeGroups", func(ctx context.Context) error {
			found, err := f.admin.DescribeGroups(ctx, group)
			return errors.Join(err, found.Error(), calls.That(found[group].State == "Empty", "%+v", found))
		}},
		{"OffsetFetch", func(ctx context.Context) error {
			found, err := f.admin.FetchOffsets(ctx, group)
			return errors.Join(err, found.Error(), calls.That(len(found[topic]) > 0, "%+v", found))
		}},
		{"OffsetCommit by an administrator", func(ctx context.Context) error {
			var offsets kadm.Offsets
			offsets.AddOffset(topic, 0, 0, -1)
			return f.admin.CommitAllOffsets(ctx, group, offsets)
		}},
		{"OffsetDelete", func(ctx context.Context) error {
			found, err := f.admin.DeleteOffsets(ctx, group, topics())
			return errors.Join(err, found.Error())
		}},
		{"DeleteGroups", func(ctx context.Context) error {
			found, err := f.admin.DeleteGroups(ctx, group)
			return errors.Join(err, found.Error())
		}},
		{"a group of the new protocol (KIP-848)", func(ctx context.Context) error {
			if err := joined(ctx, "franz-go-848", kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer())); err != nil {
				return err
			}
			found, err := f.admin.ListGroups(ctx)
			kind := found["franz-go-848"].GroupType
			return errors.Join(err, calls.That(kind == "consumer", "the client falls back to a %s group, which works", kind))
		}},
		{"a share group (KIP-932): join", func(ctx context.Context) error {
			client := opened(kgo.ConsumeTopics(topic), kgo.ShareGroup("franz-go-share"))
			defer client.Close()
			short, cancel := context.WithTimeout(ctx, 5*time.Second) // it begins at the end: there is nothing to fetch
			defer cancel()
			if err := client.PollFetches(short).Err(); !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
			found, err := f.admin.DescribeShareGroups(ctx, "franz-go-share")
			return errors.Join(err, found.Error(), calls.That(len(found["franz-go-share"].Members) == 1, "%+v", found))
		}},
	}
}

// One member reads what others have just sent, commits, and closes.
func joined(ctx context.Context, group string, options ...kgo.Opt) error {
	if err := produced(ctx, topic); err != nil {
		return err
	}
	own := []kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	client := opened(append(own, options...)...)
	defer client.Close()
	if err := fetched(ctx, client, count); err != nil {
		return err
	}
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		return err
	}
	return client.LeaveGroupContext(ctx)
}

func (f franz) partitions() []calls.Call {
	return []calls.Call{
		{"ElectLeaders, preferred", func(ctx context.Context) error { return f.elected(ctx, kadm.ElectPreferredReplica) }},
		{"ElectLeaders, unclean, where none is needed", func(ctx context.Context) error { return f.elected(ctx, kadm.ElectLiveReplica) }},
		{"AlterPartitionReassignments", func(ctx context.Context) error {
			var asked kadm.AlterPartitionAssignmentsReq
			asked.Assign(topic, 0, []int32{2, 3})
			found, err := f.admin.AlterPartitionAssignments(ctx, asked)
			return errors.Join(err, found.Error())
		}},
		{"ListPartitionReassignments, until none is left", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) {
				found, err := f.admin.ListPartitionReassignments(ctx, nil)
				return len(found) == 0, err
			})
		}},
		{"Metadata of what was moved", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) {
				found, err := f.admin.ListTopics(ctx, topic)
				return len(found[topic].Partitions[0].Replicas) == 2, err
			})
		}},
		{"DescribeLogDirs", func(ctx context.Context) error {
			found, err := f.admin.DescribeAllLogDirs(ctx, topics())
			found.Each(func(each kadm.DescribedLogDir) { err = errors.Join(err, each.Err) })
			return errors.Join(err, calls.That(len(found) == 3, "%d brokers", len(found)))
		}},
	}
}

func (f franz) elected(ctx context.Context, how kadm.ElectLeadersHow) error {
	found, err := f.admin.ElectLeaders(ctx, how, topics())
	for _, each := range found[topic] {
		if !errors.Is(each.Err, kerr.ElectionNotNeeded) {
			err = errors.Join(err, each.Err)
		}
	}
	return err
}

func (f franz) security() []calls.Call {
	user := "franz-go"
	return []calls.Call{
		{"DescribeAcls", func(ctx context.Context) error {
			any := kadm.NewACLs().AnyResource().ResourcePatternType(kadm.ACLPatternAny).Operations().Allow().AllowHosts()
			found, err := f.admin.DescribeACLs(ctx, any)
			for _, each := range found {
				err = errors.Join(err, each.Err)
			}
			return errors.Join(err, calls.That(len(found) > 0, "nothing was asked"))
		}},
		{"DescribeUserScramCredentials", func(ctx context.Context) error {
			found, err := f.admin.DescribeUserSCRAMs(ctx)
			return errors.Join(err, found.Error())
		}},
		{"AlterUserScramCredentials", func(ctx context.Context) error {
			found, err := f.admin.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{{User: user, Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "secret"}})
			return errors.Join(err, found.Error())
		}},
		{"DescribeClientQuotas", func(ctx context.Context) error {
			_, err := f.admin.DescribeClientQuotas(ctx, false, nil)
			return err
		}},
		{"AlterClientQuotas", func(ctx context.Context) error {
			found, err := f.admin.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{{
				Entity: kadm.ClientQuotaEntity{{Type: "user", Name: &user}},
				Ops:    []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: 1e6}},
			}})
			for _, each := range found {
				err = errors.Join(err, each.Err)
			}
			return err
		}},
		{"DescribeDelegationToken", func(ctx context.Context) error {
			_, err := f.admin.DescribeDelegationTokens(ctx)
			return err
		}},
	}
}

func (f franz) transactions() []calls.Call {
	return []calls.Call{
		{"a transaction: begin, produce, commit", func(ctx context.Context) error {
			client := opened(kgo.TransactionalID("franz-go"))
			defer client.Close()
			if err := client.BeginTransaction(); err != nil {
				return err
			}
			if err := sent(ctx, client, topic); err != nil {
				return err
			}
			return client.EndTransaction(ctx, kgo.TryCommit)
		}},
		{"ListTransactions", func(ctx context.Context) error {
			_, err := f.admin.ListTransactions(ctx, nil, nil)
			return err
		}},
	}
}

func (f franz) removals() []calls.Call {
	return []calls.Call{
		{"DeleteTopics", func(ctx context.Context) error {
			found, err := f.admin.DeleteTopics(ctx, topic, "franz-go-made-on-the-way")
			return errors.Join(err, found.Error())
		}},
		{"Metadata of a topic that is gone: UNKNOWN_TOPIC_OR_PARTITION", func(ctx context.Context) error {
			return calls.Await(ctx, func() (bool, error) {
				found, err := f.admin.ListTopics(ctx, topic)
				return errors.Is(found[topic].Err, kerr.UnknownTopicOrPartition), err
			})
		}},
	}
}
