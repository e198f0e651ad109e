package api

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestStanding: only what concerns all capacity counts, for as long as it lasts.
func TestStanding(t *testing.T) {
	for scope, route := range map[string]string{ScopePools: "lke/clusters/{}/pools", ScopeInstances: "linode/instances"} {
		t.Run(scope, func(t *testing.T) { standing(t, scope, route) })
	}
}

func standing(t *testing.T, scope, route string) {
	read, write := Call{Method: "GET", Route: route}, Call{Method: "POST", Route: route}
	firewall := Call{Method: "GET", Route: "networking/firewalls/{}"}
	as := func(call Call, class Class) Call {
		if call.Class = class; class != ClassNone {
			call.Err = errors.New(string(class))
		}
		return call
	}
	refused, silent := ReasonTokenRefused, ReasonNoAnswer
	tests := map[string]struct {
		calls []Call
		want  string
		later string // ten minutes after the last call
	}{
		"all is well":                 {[]Call{as(read, ClassNone)}, "", ""},
		"the token is refused":        {[]Call{as(read, ClassAuth)}, refused, refused},
		"and taken again":             {[]Call{as(read, ClassAuth), as(read, ClassNone)}, "", ""},
		"it may read and not write":   {[]Call{as(write, ClassAuth), as(read, ClassNone)}, refused, ""},
		"and may write again":         {[]Call{as(write, ClassAuth), as(write, ClassNone)}, "", ""},
		"a refused pool is an answer": {[]Call{as(read, ClassAuth), as(read, ClassNotFound)}, "", ""},
		"another right is missing":    {[]Call{as(firewall, ClassAuth)}, "", ""},
		"one call fails":              {[]Call{as(read, ClassUnknown), as(write, ClassUnknown)}, "", ""},
		"none is answered": {
			[]Call{as(read, ClassUnknown), as(write, ClassUnknown), as(read, ClassUnknown)}, silent, silent,
		},
		"a full answer ends it": {
			[]Call{as(read, ClassUnknown), as(read, ClassUnknown), as(read, ClassBusy), as(read, ClassUnknown)}, "", "",
		},
		"busy says nothing of a token": {[]Call{as(read, ClassAuth), as(read, ClassBusy)}, refused, refused},
		"silence says nothing of it":   {[]Call{as(read, ClassAuth), as(read, ClassUnknown)}, refused, refused},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewStanding(scope)
				for _, call := range tt.calls {
					s.Observe(call)
				}
				if got := s.Problem().Reason; got != tt.want {
					t.Errorf("the problem is %q, want %q", got, tt.want)
				}
				if told := len(s.Changed()) > 0; tt.want != "" && !told {
					t.Error("no listener was called")
				}
				time.Sleep(10 * time.Minute)
				if got := s.Problem().Reason; got != tt.later {
					t.Errorf("ten minutes later the problem is %q, want %q", got, tt.later)
				}
			})
		})
	}
}
