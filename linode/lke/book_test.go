package lke

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// book is a Claims in memory.
type book struct {
	mu     sync.Mutex
	refuse int // so many times Bind fails
	pages
}

// pages are what a book has.
type pages struct {
	claims      map[string]capacity.Claim
	nodes       map[int]nodeclaim.Node
	unserved    map[string]string
	ended       []string
	extended    map[string]time.Time // when last
	warned      []string
	warnedPools []string
}

func newBook() *book {
	return &book{pages: pages{
		claims: map[string]capacity.Claim{}, nodes: map[int]nodeclaim.Node{}, unserved: map[string]string{},
		extended: map[string]time.Time{},
	}}
}

// seen is a copy of the book, which continues.
func (r *rig) seen() pages {
	r.book.mu.Lock()
	defer r.book.mu.Unlock()
	p := r.book.pages
	p.claims, p.nodes, p.unserved = maps.Clone(p.claims), maps.Clone(p.nodes), maps.Clone(p.unserved)
	return p
}

func (b *book) List(context.Context) ([]capacity.Claim, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.claims)), nil
}

func (b *book) Bind(_ context.Context, bind capacity.Bind) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.claims[bind.UID]
	if !ok {
		return errors.New("not found")
	}
	if b.refuse > 0 {
		b.refuse--
		return errors.New("etcdserver: request timed out")
	}
	c.Instance = bind.Instance
	b.claims[bind.UID] = c
	return nil
}

func (b *book) ReplanOrDelete(_ context.Context, uid, reason string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unserved[uid] = reason
	c := b.claims[uid]
	c.Leaving = true
	b.claims[uid] = c
	return nil
}

func (b *book) Extend(_ context.Context, uid string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.extended[uid] = time.Now()
	return nil
}

func (b *book) Lose(_ context.Context, uid string, instance int, _ string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.claims[uid]; ok && c.Instance == instance {
		b.ended = append(b.ended, uid)
		c.Leaving = true
		b.claims[uid] = c
	}
	return nil
}

func (b *book) NotDeleted(ctx context.Context, uid, reason, message string) error {
	b.Warn(ctx, uid, reason, message)
	return nil
}

func (b *book) Warn(_ context.Context, uid, reason, _ string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.warned = append(b.warned, uid+" "+reason)
}
