package inspect

import (
	"context"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode/api"
)

// Level is how bad something is.
type Level = string

// The levels.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn" // it works, but perhaps not as expected
	LevelFail Level = "fail" // something does not work
)

// Finding is the result of one check.
type Finding struct {
	Level Level  `json:"level"`
	Of    string `json:"of"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // about it
}

// Cluster is the cluster to check; kube.Cluster implements it.
type Cluster interface {
	cluster.Lister
	Server(ctx context.Context) (version.Info, error)
	May(ctx context.Context, namespace, account string, what authorizationv1.ResourceAttributes) (bool, error)
}

// Account reads the Linode account; api.Client implements it.
type Account interface {
	Clusters(ctx context.Context) ([]api.Cluster, error)
	Scopes() []string
	MayUse(scope string) bool
}

// Settings are the controller's settings. ID is that of an LKE cluster.
type Settings struct{ Name, ID, Region, Endpoint string }

// Joining checks a cluster in instance mode, in which machines are separate Linodes.
type Joining struct {
	// Needs checks what machines need to join.
	Needs func(ctx context.Context, s Settings) []Finding
	// Linodes checks the Linodes of the cluster; NewToken is what to do if Linode refuses the token.
	Linodes  func(ctx context.Context, s Settings) ([]Finding, error)
	NewToken string
}

// Installation is what doctor checks: lkeplan in a cluster, and its account.
type Installation struct {
	Cluster Cluster
	Linode  Account // nil if there is no token
	Name    string  // of the cluster; "" where it is not given
	ID      int     // of the LKE cluster; 0 where it is not given
	// Instances is true if the cluster is not LKE's; if false, the controller's settings decide.
	Instances bool
	Joining   Joining
	// Settings of the controller in instance mode; "" takes that of the Deployment.
	Region, Endpoint string
	Version          string // of this program; "" if it was built from a checkout
	Now              func() time.Time
}

// Examine runs all checks, the foundations first. A check that cannot be made is a finding, too.
func Examine(ctx context.Context, p Installation) []Finding {
	found := p.server(ctx)
	if worstLevel(found) == LevelFail {
		return found // without an API server nothing else is known
	}
	for _, look := range []func(context.Context) []Finding{
		p.crds, p.installed, p.controllers, p.rights, p.joins, p.rivals, p.objects, p.linode,
	} {
		found = append(found, look(ctx)...)
	}
	return found
}

func worstLevel(found []Finding) Level {
	level := LevelOK
	for _, f := range found {
		if f.Level == LevelFail || f.Level == LevelWarn && level == LevelOK {
			level = f.Level
		}
	}
	return level
}

// Failed reports whether any check failed.
func Failed(found []Finding) bool { return worstLevel(found) == LevelFail }

// notKnown returns the finding for a check that could not be made.
func notKnown(of string, err error) []Finding {
	f := Finding{LevelWarn, of, "unknown: " + err.Error(), ""}
	if apierrors.IsForbidden(err) {
		f.Do = "run doctor as a user with this right"
	}
	return []Finding{f}
}
