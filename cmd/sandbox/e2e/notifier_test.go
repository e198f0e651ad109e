package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// outside is what notification-controller calls: a forge, for comments and statuses,
// and a chat.
type outside struct {
	url string

	mu       sync.Mutex
	comments []string            // of pull request 7
	statuses map[string][]string // by commit
	chat     []string
}

func startOutside(t testing.TB) *outside {
	t.Helper()
	o := &outside{statuses: map[string][]string{}}
	repo := "/api/v3/repos/example/fleet/"
	mux := http.NewServeMux()
	handle := func(pattern string, answer func(r *http.Request, body map[string]any) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			o.mu.Lock()
			defer o.mu.Unlock()
			var body map[string]any
			if r.Method != http.MethodGet {
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					http.Error(w, err.Error(), http.StatusBadRequest)
					return
				}
			}
			json.NewEncoder(w).Encode(answer(r, body))
		})
	}
	handle("GET /api/v3/user", func(*http.Request, map[string]any) any { return map[string]any{"login": "bot"} })
	handle("GET "+repo+"issues/7/comments", func(*http.Request, map[string]any) any {
		list := []any{}
		for id, text := range o.comments {
			list = append(list, map[string]any{"id": id, "body": text, "user": map[string]any{"login": "bot"}})
		}
		return list
	})
	handle("POST "+repo+"issues/7/comments", func(_ *http.Request, body map[string]any) any {
		o.comments = append(o.comments, body["body"].(string))
		return body
	})
	handle("PATCH "+repo+"issues/comments/0", func(_ *http.Request, body map[string]any) any {
		o.comments[0] = body["body"].(string)
		return body
	})
	handle("GET "+repo+"commits/{commit}/statuses", func(*http.Request, map[string]any) any { return []any{} })
	handle("POST "+repo+"statuses/{commit}", func(r *http.Request, body map[string]any) any {
		commit := r.PathValue("commit")
		o.statuses[commit] = append(o.statuses[commit], fmt.Sprint(body["state"]))
		return body
	})
	handle("POST /chat", func(_ *http.Request, body map[string]any) any {
		first := body["attachments"].([]any)[0].(map[string]any)
		o.chat = append(o.chat, fmt.Sprint(first["author_name"], ": ", first["text"]))
		return body
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

// heard returns the calls so far.
func (o *outside) heard() (comments []string, statuses map[string][]string, chat []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	statuses = map[string][]string{}
	for commit, states := range o.statuses {
		statuses[commit] = slices.Clone(states)
	}
	return slices.Clone(o.comments), statuses, slices.Clone(o.chat)
}

// startNotifier runs notification-controller and returns the address that takes
// events.
func (s *sandbox) startNotifier() string {
	s.t.Helper()
	build := exec.Command(bin(s.t, "sandbox"), "build", "flux-notification")
	build.Stderr = os.Stderr
	out, err := build.Output()
	if err != nil {
		s.t.Fatalf("sandbox build flux-notification: %v", err)
	}
	var program string
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "notification-controller" {
			program = fields[1]
		}
	}
	events, health := freeAddress(s.t), freeAddress(s.t)
	cmd := s.command(program, nil, "--events-addr", events, "--receiverAddr", freeAddress(s.t), "--health-addr", health,
		"--metrics-addr", "0", "--enable-leader-election=false")
	var log journal
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("the log of notification-controller:\n%s", tail(log.String(), 60))
		}
	})
	s.until("notification-controller is ready", time.Minute, func(state) bool {
		answer, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return "http://" + events + "/"
}

const toOutside = `
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: default}
stringData: {token: secret}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: comments, namespace: default}
spec: {type: githubpullrequestcomment, address: "URL/example/fleet", secretRef: {name: token}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: statuses, namespace: default}
spec: {type: github, address: "URL/example/fleet", secretRef: {name: token}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: chat, namespace: default}
spec: {type: slack, address: "URL/chat"}
`

const alert = `
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: NAME, namespace: default}
spec:
  providerRef: {name: NAME}
  eventSeverity: info
  eventSources: [{kind: NodePlan, name: "*"}]
`

// TestFluxNotifies: with the real notification-controller, the plan of a pull request
// is one comment that is kept up to date. Each commit gets its own status
// reconciliation; a plan that the guards refuse is a failure until it is approved. The
// chat gets what was applied and what failed.
func TestFluxNotifies(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--flux")
	s.installCRDs()
	s.letsAlertsNameNodePlans()
	world := startOutside(t)
	manifests := strings.ReplaceAll(toOutside, "URL", world.url)
	for _, name := range []string{"comments", "statuses", "chat"} {
		manifests += strings.ReplaceAll(alert, "NAME", name)
	}
	s.until("alerts may name NodePlans", 20*time.Second, func(state) bool {
		_, refused := s.tries(s.env["KUBECONFIG"], manifests, "apply", "-f", "-")
		return !refused
	})
	s.startController("--events-addr", s.startNotifier())
	repo := serveGit(t)
	const path = "clusters/dev/main.lke.hcl"
	until := func(what string, holds func(comments []string, statuses map[string][]string, chat []string) bool) {
		t.Helper()
		s.until(what, time.Minute, func(state) bool { return holds(world.heard()) })
	}

	first := repo.commit(path, fleet("", "a", "b", "c"))
	s.kube(strings.ReplaceAll(nodePlanOfGit, "URL", repo.url), "apply", "-f", "-")
	until("the first commit is a success, and the chat hears what was done",
		func(_ []string, statuses map[string][]string, chat []string) bool {
			return slices.Equal(statuses[first], []string{"success"}) &&
				slices.ContainsFunc(chat, saying("Applied revision: main@sha1:"+first, "4 to create"))
		})

	git(t, repo.dir, "checkout", "-qb", "pr-7")
	var asked string
	commented := func(status string, want ...string) func([]string, map[string][]string, []string) bool {
		return func(comments []string, statuses map[string][]string, _ []string) bool {
			states := statuses[asked]
			return len(comments) == 1 && saying(append(want, "NodePlan/default/pr-7", asked)...)(comments[0]) &&
				len(states) > 0 && states[len(states)-1] == status
		}
	}
	asked = repo.commit(path, fleet("", "a", "b"))
	s.kube(strings.NewReplacer("URL", repo.url, "namespace: default}",
		`namespace: default, annotations: {event.toolkit.fluxcd.io/change_request: "7"}}`).Replace(nodePlanOfPullRequest),
		"apply", "-f", "-")
	until("the plan is a comment, and its commit a success", commented("success", "`pool.c` | **deleted**"))
	asked = repo.commit(path, fleet("", "a"))
	until("a plan that the guards refuse is in the same comment, and its commit a failure",
		commented("failure", "`pool.b` | **deleted**", "**blocked**"))
	s.untilPlan("pr-7", "the plan is in the status too", func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonPlanned)(np) && len(np.Status.Guards) == 1 &&
			np.Status.Guards[0].Status == "blocked"
	})
	s.approve("pr-7")
	until("when it is approved its commit becomes a success", commented("success", "`pool.b` | **deleted**",
		"- allowed: "))
	s.approve("fleet", "--take-back")
	until("when the approval is taken back it is a failure again, though that is no news",
		commented("failure", "**blocked**"))

	git(t, repo.dir, "checkout", "-q", "main")
	bad := repo.commit(path, "pool \"a\" {\n  node_class = node_class.nosuch\n}\n")
	s.untilPlan("fleet", "the bad commit is refused", because(lkeplanv1alpha1.ReasonCompileFailed))
	until("the bad commit is a failure, and the chat hears where",
		func(_ []string, statuses map[string][]string, chat []string) bool {
			return slices.Equal(statuses[bad], []string{"failure"}) &&
				slices.ContainsFunc(chat, saying("nodeplan/fleet.default", "main.lke.hcl:2", "nosuch"))
		})
	// A revision that does not prove itself is a failure when it is taken back, and nothing before.
	s.kube("", "patch", "nodeplan", "fleet", "--type=merge", "-p",
		`{"spec":{"rollout":{"stable":"3s","timeout":"20s","onFailure":"Rollback"}}}`)
	s.applyAll(workload("a", 1))
	s.until("a pod runs", time.Minute, func(now state) bool { return now.running == 1 && now.matched() })
	tainted := repo.commit(path, strings.Replace(fleet("", "a", "b", "c"), "weight       = 10\n",
		"weight       = 10\n  taints       = [\"dedicated=nobody:NoSchedule\"]\n", 1))
	s.untilWithin("fleet", "the tainted pool proves itself", 2*time.Minute, isProving)
	if _, statuses, _ := world.heard(); len(statuses[tainted]) > 0 {
		t.Errorf("while it proves itself its commit is %v", statuses[tainted])
	}
	s.untilWithin("fleet", "it is rolled back", 2*time.Minute, because(lkeplanv1alpha1.ReasonRolledBack))
	until("the commit is a failure, and the chat hears why",
		func(_ []string, statuses map[string][]string, chat []string) bool {
			return slices.Equal(statuses[tainted], []string{"failure"}) &&
				slices.ContainsFunc(chat, saying("nodeplan/fleet.default", "is rolled back to main@sha1:"+first))
		})
	comments, statuses, _ := world.heard()
	if !slices.Equal(statuses[first], []string{"success"}) || len(comments) != 1 {
		t.Errorf("at the end the first commit is %v, and there are %d comments", statuses[first], len(comments))
	}
}
