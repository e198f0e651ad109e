package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lkeplan/lkeplan/linode/api"
)

// soon is why something is not done yet that needs no more than another look, as long as
// they are not uncordoned.
const soon = "its nodes do not stay cordoned"

// quiet is how long nothing is said of what a move waits for, and between two such words.
const quiet = 30 * time.Second

// retry tries until nothing is in the way, for at most Timeout. Of a node, or of
// the LKE pool itself, it says meanwhile what it waits for. An error that may pass is tried
// again.
func (l *drainRun) retry(ctx context.Context, node string, try func() (why []string, err error)) error {
	deadline := time.NewTimer(l.Timeout)
	defer deadline.Stop()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	spoke, last := time.Now(), false
	for {
		why, err := try()
		switch {
		case err != nil && (ctx.Err() != nil || permanent(err)):
			return err
		case err == nil && len(why) == 0:
			return nil
		case err != nil:
			why = []string{err.Error()}
		}
		if time.Since(spoke) >= quiet && why[0] != soon {
			spoke = time.Now()
			l.Report(l.waits(node, why))
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			switch {
			case err != nil:
				return err
			case last || why[0] != soon:
				return stopped(node, why)
			}
			last = true
			deadline.Reset(3 * poll)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waits is what a move tells while it waits.
func (l *drainRun) waits(node string, why []string) Step {
	what := "waits: " + why[0]
	if more := len(why) - 1; more > 0 {
		what += fmt.Sprintf(" (and %d more)", more)
	}
	if node == "" {
		return Step{"LKE pool", l.name(), what}
	}
	return Step{"Node", node, what}
}

// stopped says what holds a move.
func stopped(node string, why []string) error {
	const most = 5
	if more := len(why) - most; more > 0 {
		why = append(why[:most:most], fmt.Sprintf("and %d more", more))
	}
	at := ""
	if node != "" {
		at = " at node " + node
	}
	return fmt.Errorf("%w%s:\n  %s", ErrDrainStopped, at, strings.Join(why, "\n  "))
}

// permanent reports whether an error comes again, however often one tries: a request that is
// refused for what it is, or for who asks. What is gone is not listed by the next look.
func permanent(err error) bool {
	if _, ofLinode := errors.AsType[*api.Error](err); ofLinode {
		class := api.ClassOf(err)
		return !slices.Contains([]api.Class{api.ClassBusy, api.ClassUnknown, api.ClassNotFound}, class)
	}
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		switch code := answer.Status().Code; code {
		case http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
			return false
		default:
			return code >= 400 && code < 500
		}
	}
	return meta.IsNoMatchError(err)
}
