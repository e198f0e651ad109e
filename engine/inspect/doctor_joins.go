package inspect

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/schemas"
)

// settings are the controller's settings.
type settings struct {
	Settings
	instances bool // it is not LKE's: machines join automatically
}

// cluster returns the LKE cluster to check: the one of the flags, else the one that the controller is installed with.
func (s settings) cluster(p Installation) (name string, id int) {
	if p.Name != "" || p.ID != 0 {
		return p.Name, p.ID
	}
	id, _ = strconv.Atoi(s.ID)
	return s.Name, id
}

// settings returns those of flags, and else those of the Deployment that creates nodes.
func (p Installation) settings(ctx context.Context) settings {
	env := map[string]string{}
	parts, _ := p.parts(ctx) // installed reports the problem
	for _, d := range parts {
		if d.name == "lkeplan-controller" {
			env = d.env
		}
	}
	return settings{
		Settings{
			Name:     cmp.Or(p.Name, env["CLUSTER_NAME"]),
			ID:       env["LKE_CLUSTER_ID"],
			Region:   cmp.Or(p.Region, env["LINODE_REGION"]),
			Endpoint: cmp.Or(p.Endpoint, env["CLUSTER_ENDPOINT"]),
		},
		p.Instances || env["KARPENTER_MODE"] == schemas.ModeInstance,
	}
}

// joins checks what machines need to join.
func (p Installation) joins(ctx context.Context) []Finding {
	s := p.settings(ctx)
	if !s.instances {
		return nil
	}
	return append(p.Joining.Needs(ctx, s.Settings), p.unjoined(ctx)...)
}

// unjoined finds the last event, within the last hour, about a machine that has not joined. Events of NodeClaims are in
// default, where tenants cannot write.
func (p Installation) unjoined(ctx context.Context) []Finding {
	const of = "machines that join"
	at, err := p.events(ctx)
	if err != nil {
		return notKnown(of, err)
	}
	claims, err := cluster.List[karpv1.NodeClaim](ctx, p.Cluster, "karpenter.sh/v1", "NodeClaim")
	if err != nil {
		return notKnown(of, err)
	}
	joined := map[types.UID]bool{}
	for _, nc := range claims {
		joined[nc.UID] = nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered).IsTrue()
	}
	for _, e := range at.OfKind("NodeClaim") {
		if saysWhyUnjoined(e) && !joined[e.InvolvedObject.UID] && p.Now().Sub(at.LastSeen(e)) < time.Hour {
			return []Finding{{LevelWarn, of, saidOf(at, e), "fix what it reports; see lkeplan why node " + e.InvolvedObject.Name}}
		}
	}
	return nil
}

func (p Installation) events(ctx context.Context) (cluster.Events, error) {
	events, err := cluster.List[corev1.Event](ctx, p.Cluster, "v1", "Event")
	return cluster.Snapshot{Events: events}.EventsAt(p.Now()), err
}

// saidOf returns what an event of a NodeClaim reports.
func saidOf(events cluster.Events, e *corev1.Event) string {
	return fmt.Sprintf("NodeClaim %s, at %s: %s", e.InvolvedObject.Name, events.LastSeen(e).UTC().Format("15:04 UTC"), e.Message)
}
