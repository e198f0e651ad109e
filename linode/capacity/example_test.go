package capacity_test

import (
	"fmt"
	"time"

	"github.com/lkeplan/lkeplan/linode/capacity"
)

// Three claims wait for a machine. One call creates a pool of three; the next view of
// LKE shows two instances, which two claims get.
func ExampleDecide() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	policy := capacity.Policy{
		Grace: time.Minute, SlotTimeout: 4 * time.Minute, PoolSize: 100, Quick: 2 * time.Second, Idle: time.Minute,
	}
	web := capacity.Group{NodePool: "web", Plan: "g6-standard-4"}
	claims := []capacity.Claim{
		{UID: "a", Group: web, Created: now},
		{UID: "b", Group: web, Created: now},
		{UID: "c", Group: web, Created: now},
	}
	first := capacity.Decide(capacity.View{Claims: claims, Asked: now}, capacity.Memory{}, policy, now)
	for _, work := range first.Works {
		fmt.Println("create a pool of", work.Create[0], "for", work.For)
	}

	memory := first.Memory
	memory.Finish(web.Key(), now.Add(time.Second)) // LKE has answered
	now = now.Add(2 * time.Second)
	pools := []capacity.Pool{{
		ID: 1, Group: web.Key(), Count: 3,
		Slots: []capacity.Slot{{ID: "1-a", Instance: 10}, {ID: "1-b", Instance: 11}, {ID: "1-c"}},
	}}
	second := capacity.Decide(capacity.View{Claims: claims, Pools: pools, Asked: now}, memory, policy, now)
	for _, bind := range second.Binds {
		fmt.Println("bind", bind.UID, "to Linode", bind.Instance)
	}
	fmt.Println("poll again in", second.PollIn)
	// Output:
	// create a pool of 3 for [a b c]
	// bind a to Linode 10
	// bind b to Linode 11
	// poll again in 2s
}
