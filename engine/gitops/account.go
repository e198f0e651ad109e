package gitops

import (
	"cmp"
	"fmt"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// accountClients are connections that impersonate the service accounts of NodePlans, each created
// once. NodePlans that name no account use the account other; "" for that of the client
// configuration.
type accountClients struct {
	cfg    *rest.Config
	other  string
	counts *reconcilerMetrics

	byUser sync.Map // Cluster by name
}

// Connect returns a connection to the cluster as the service account of a NodePlan.
func (a *accountClients) Connect(np *lkeplanv1alpha1.NodePlan) (Cluster, error) {
	as := rest.CopyConfig(a.cfg)
	if account := cmp.Or(np.Spec.ServiceAccountName, a.other); account != "" {
		as.Impersonate.UserName = fmt.Sprintf("system:serviceaccount:%s:%s", np.Namespace, account)
	}
	if known, ok := a.byUser.Load(as.Impersonate.UserName); ok {
		return known.(Cluster), nil
	}
	cluster, err := kube.NewCluster(as)
	if err != nil {
		return nil, err
	}
	kept, _ := a.byUser.LoadOrStore(as.Impersonate.UserName, countedCluster{cluster, a.counts})
	return kept.(Cluster), nil
}
