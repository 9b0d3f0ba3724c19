package clients;

import static clients.Calls.refused;
import static clients.Calls.that;

import clients.Calls.Call;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.errors.BrokerIdNotRegisteredException;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;

/** Admin's calls for the cluster as a whole, and for who may do what in it. */
final class Others implements AutoCloseable {
    private final Admin admin = Admin.create(Map.of("bootstrap.servers", Calls.brokers()));

    List<Call> cluster() {
        return List.of(
                new Call("describeCluster", () -> {
                    var found = admin.describeCluster();
                    that(found.nodes().get().size() == 3, found.nodes().get());
                    that(!found.clusterId().get().isEmpty(), "no cluster id");
                }),
                new Call("describeMetadataQuorum", () -> {
                    var found = admin.describeMetadataQuorum().quorumInfo().get();
                    that(found.leaderId() == 1 && found.voters().size() == 1, found);
                }),
                new Call("describeFeatures", () -> {
                    var found = admin.describeFeatures().featureMetadata().get();
                    that(!found.finalizedFeatures().isEmpty(), found);
                }),
                new Call("updateFeatures, validated only", () -> {
                    var supported = admin.describeFeatures().featureMetadata().get();
                    String name = supported.finalizedFeatures().keySet().iterator().next();
                    short level = supported.supportedFeatures().get(name).maxVersion();
                    var asked = Map.of(name, new FeatureUpdate(level, UpgradeType.UPGRADE));
                    admin.updateFeatures(asked, new UpdateFeaturesOptions().validateOnly(true)).all().get();
                }),
                new Call("unregisterBroker of nobody: BrokerIdNotRegisteredException", () ->
                        refused(BrokerIdNotRegisteredException.class, () -> admin.unregisterBroker(77).all().get())));
    }

    List<Call> calls() {
        var user = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "somebody"));
        var quota = new ClientQuotaAlteration(user, List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1e9)));
        return List.of(
                new Call("describeAcls", () -> admin.describeAcls(AclBindingFilter.ANY).values().get()),
                new Call("describeUserScramCredentials", () -> admin.describeUserScramCredentials().all().get()),
                new Call("describeClientQuotas", () -> admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get()),
                new Call("alterClientQuotas", () -> admin.alterClientQuotas(List.of(quota)).all().get()),
                new Call("describeDelegationToken", () -> admin.describeDelegationToken().delegationTokens().get()),
                new Call("listTransactions", () -> admin.listTransactions().all().get()));
    }

    @Override
    public void close() {
        admin.close();
    }
}
