package instance

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/token"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/linode/sim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// closing is an account that may not have Linodes of any plan.
type closing struct {
	listing
	meanwhile func() // happens before the answer

	mu    sync.Mutex
	asked []string // plans
}

func (c *closing) CreateInstance(_ context.Context, spec api.InstanceSpec) (api.Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, spec.Type)
	c.meanwhile()
	return api.Instance{}, &api.Error{
		Status: http.StatusBadRequest, Reasons: []api.Reason{{Reason: sim.PlanClosed}},
	}
}

// TestPlanClosedToTheAccountIsNotRetriedSoon for six hours, also if the claim is gone by the time Linode
// answers. A claim that exists is deleted for that reason, and not for lack of machines.
func TestPlanClosedToTheAccountIsNotRetriedSoon(t *testing.T) {
	const plan = "g6-standard-4"
	server := httptest.NewTLSServer(nil)
	server.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for name, stays := range map[string]bool{"the claim waits": true, "the claim is gone": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				template := &corev1.Secret{Data: map[string][]byte{"userData": []byte("#cloud-config\n")}}
				template.Namespace, template.Name = "lkeplan", "template"
				nc := ordered("a", plan, 0, time.Now())
				o := Order{Plan: plan, Image: "linode/debian12"}
				o.Bootstrap.Kind, o.Bootstrap.UserDataSecret = linodev1alpha1.BootstrapCustom, template.Name
				nc.Annotations = map[string]string{nodeclaim.AnnotationOrder: o.Encode()}
				i, _ := countingIn(t, &listing{}, nc, template, configMap("kube-system", "kube-root-ca.crt", "ca.crt", ca))
				api := &closing{meanwhile: func() {
					if !stays {
						if err := i.cfg.Client.Delete(t.Context(), claim("a")); err != nil {
							t.Error(err)
						}
					}
				}}
				cfg := i.cfg
				cfg.API = api
				cfg.Joins = Joins{
					Live: cfg.Client, Tokens: token.New(cfg.Client, cfg.Client), Endpoint: "https://10.0.0.1:6443", Namespace: "lkeplan",
				}
				i = New(cfg)
				for range 3 {
					if _, err := i.syncer.Step(t.Context()); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					time.Sleep(10 * time.Second)
				}
				if len(api.asked) != 1 || api.asked[0] != plan {
					t.Errorf("asked for %v", api.asked)
				}
				time.Sleep(5 * time.Hour)
				if closed := i.cfg.Types.Closed(); len(closed) != 1 {
					t.Errorf("after five hours closed are %v", closed)
				}
				time.Sleep(2 * time.Hour)
				if closed, blocked := i.cfg.Types.Closed(), i.cfg.Types.Blocked(); len(closed)+len(blocked) != 0 {
					t.Errorf("after seven hours closed are %v, blocked are %v", closed, blocked)
				}
				var said []string
				for recorded := i.cfg.Events.(*events.FakeRecorder).Events; len(recorded) > 0; {
					said = append(said, <-recorded)
				}
				text := strings.Join(said, "\n")
				if strings.Contains(text, plan+" is closed to this "+
					"account") != stays || strings.Contains(text, "has no g6-standard-4") {
					t.Errorf("events:\n%s", text)
				}
			})
		})
	}
}
