// Package doctor looks whether all is there that lkeplan needs in a cluster and at Linode,
// and says what to do about what is not.
//
// It changes nothing: what it asks are lists, reviews and dry runs.
package doctor

import (
	"context"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"

	"github.com/lkeplan/lkeplan/engine/leave"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/api"
)

// Level is how bad something is.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warn" // it works, and perhaps not as somebody expects
	Fail Level = "fail" // something does not work
)

// Finding is what was found out about one thing.
type Finding struct {
	Level Level  `json:"level"`
	Of    string `json:"of"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // about it
}

// Cluster is the cluster to look at; kube.Cluster is one.
type Cluster interface {
	leave.Cluster
	Server(ctx context.Context) (version.Info, time.Time, error)
	MayI(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error)
	May(ctx context.Context, namespace, account string, what authorizationv1.ResourceAttributes) (bool, error)
	DryRun(ctx context.Context, live, desired map[string]any) (map[string]any, []kube.Conflict, error)
}

// Linode is the account; api.Client is one.
type Linode interface {
	Clusters(ctx context.Context) ([]api.Cluster, error)
	Instances(ctx context.Context, tag string) ([]api.Instance, error)
	Scopes() []string
	MayUse(scope string) bool
}

// Installation is what is examined: lkeplan in a cluster, and its account.
type Installation struct {
	Cluster Cluster
	Linode  Linode // nil where no token is given
	Name    string // of the cluster; "" where it is not given
	ID      int    // of the LKE cluster; 0 where it is not given
	// Instances is true where the cluster is not LKE's; else the controller's settings say it.
	Instances bool
	// What the controller is told in instance mode, each "" where it is as the Deployment says.
	Region, Endpoint string
	Version          string // of this program; "" for one that is built from a checkout
	Now              func() time.Time
}

// Examine looks at everything, the foundations first. What cannot be looked at is a
// finding, too.
func Examine(ctx context.Context, p Installation) []Finding {
	found := p.server(ctx)
	if worst(found) == Fail {
		return found // without an API server nothing else is known
	}
	for _, look := range []func(context.Context) []Finding{
		p.crds, p.installed, p.controllers, p.rights, p.joins, p.policies, p.rivals, p.admission, p.objects, p.gpus, p.linode,
		p.closed, p.limited, p.unaccepted,
	} {
		found = append(found, look(ctx)...)
	}
	return found
}

// worst is the worst level of some findings.
func worst(found []Finding) Level {
	level := OK
	for _, f := range found {
		if f.Level == Fail || f.Level == Warn && level == OK {
			level = f.Level
		}
	}
	return level
}

// Sick reports whether something does not work.
func Sick(found []Finding) bool { return worst(found) == Fail }

// unknown is the finding where something cannot be looked at.
func unknown(of string, err error) []Finding {
	f := Finding{Warn, of, "not known: " + err.Error(), ""}
	if apierrors.IsForbidden(err) {
		f.Do = "run it as a user who may"
	}
	return []Finding{f}
}
