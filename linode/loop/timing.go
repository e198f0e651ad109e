package loop

import (
	"cmp"
	"time"
)

// Timing has the delays of the loops. A zero field means its default, which the comment names.
type Timing struct {
	Gather      time.Duration // 200ms: wait for more claims before the first call to LKE, if more may come
	Quick       time.Duration // 2s: between polls while claims wait
	Idle        time.Duration // 1m: between polls while no claim waits
	Grace       time.Duration // 1m: how long a slot of LKE without an instance may stay unowned
	Keep        time.Duration // 10m: how long a machine or a placement group may stay unowned; the first hour is paid for anyway
	SlotTimeout time.Duration // 4m, 20m on Enterprise: how long a slot may stay without an instance, or unlisted
	NoCapacity  time.Duration // 3m: how long a plan type without capacity is not offered
	Maintenance time.Duration // 10m: between lists of the maintenance that Linode has announced
	Late        time.Duration // 2m: in instance mode, how long after it was sent a call without an answer may take effect
}

// WithDefaults returns the timing with defaults for zero fields.
func (t Timing) WithDefaults() Timing {
	return Timing{
		Gather:      cmp.Or(t.Gather, 200*time.Millisecond),
		Quick:       cmp.Or(t.Quick, 2*time.Second),
		Idle:        cmp.Or(t.Idle, time.Minute),
		Grace:       cmp.Or(t.Grace, time.Minute),
		Keep:        cmp.Or(t.Keep, 10*time.Minute),
		SlotTimeout: cmp.Or(t.SlotTimeout, 4*time.Minute),
		NoCapacity:  cmp.Or(t.NoCapacity, 3*time.Minute),
		Maintenance: cmp.Or(t.Maintenance, 10*time.Minute),
		Late:        cmp.Or(t.Late, 2*time.Minute),
	}
}
