package lke

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// account knows the firewalls and versions that a class may name; api.Client is
// one.
type account interface {
	Versions(ctx context.Context, tier catalog.Tier) ([]string, error)
	Firewall(ctx context.Context, id int) error
}

// How long an answer about the account counts: both come and go without an event. That
// something is missing, or was not answered, is asked again sooner.
const (
	answerFor  = 10 * time.Minute
	missingFor = time.Minute
)

// remembered is an account that is asked once for many classes and events. It leaves
// the rate limit to others where that is short.
type remembered struct {
	account account

	mu      sync.Mutex
	answers map[string]answer
}

type answer struct {
	until    time.Time
	versions []string
	err      error
}

func remember(a account) *remembered { return &remembered{account: a, answers: map[string]answer{}} }

// Versions implements account.
func (r *remembered) Versions(ctx context.Context, tier catalog.Tier) ([]string, error) {
	got := r.ask("versions of "+string(tier), func() (a answer) {
		a.versions, a.err = r.account.Versions(api.LowPriority(ctx), tier)
		return a
	})
	return got.versions, got.err
}

// Firewall implements account.
func (r *remembered) Firewall(ctx context.Context, id int) error {
	return r.ask("firewall "+strconv.Itoa(id), func() answer {
		return answer{err: r.account.Firewall(api.LowPriority(ctx), id)}
	}).err
}

func (r *remembered) ask(what string, ask func() answer) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, known := r.answers[what]; known && time.Now().Before(a.until) {
		return a
	}
	a := ask()
	a.until = time.Now().Add(answerFor)
	if a.err != nil {
		a.until = time.Now().Add(missingFor)
	}
	r.answers[what] = a
	return a
}
