package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Scopes of a token, as X-Accepted-OAuth-Scopes names them.
const (
	lkeRead      = "lke:read_only"
	lkeWrite     = "lke:read_write"
	linodesRead  = "linodes:read_only"
	linodesWrite = "linodes:read_write"
	firewallRead = "firewall:read_only"
	imagesRead   = "images:read_only"
	vpcRead      = "vpc:read_only"
	accountRead  = "account:read_only"
	eventsRead   = "events:read_only"
)

// route is one call of the API.
type route struct {
	pattern string // in the form of http.ServeMux, without the version
	scope   string // scope that a token needs; "" means public
	list    bool   // counts as a GET of a list
	creates bool   // counts as a creation of a Linode
	serve   handler
	// unmetered means that answers have no headers about rate limits, as recorded for the lists of versions.
	unmetered bool
}

// handler does the work of a call and returns its answer, which can be an *apiError.
type handler func(*state, *request) (any, error)

// onObject returns a handler for calls about one object, which find looks up by the ids in the path.
func onObject[T any](find func(*state, *request) *T, serve func(*state, *T, *request) (any, error)) handler {
	return func(st *state, q *request) (any, error) {
		if object := find(st, q); object != nil {
			return serve(st, object, q)
		}
		return nil, notFound()
	}
}

// getObject returns a handler that shows an object.
func getObject[T any](find func(*state, *request) *T) handler {
	return onObject(find, func(_ *state, object *T, _ *request) (any, error) { return *object, nil })
}

// listObjects returns a handler that lists objects; fields are the fields that a filter may name.
func listObjects[T any](objects func(*state) []T, fields ...string) handler {
	return func(st *state, q *request) (any, error) { return listPage(q, objects(st), fields...) }
}

// apiRoutes returns the calls of the API. The scope of placement groups was recorded; those of other objects from
// which Linodes are created are in the API's specification. The fields that a filter may name are those of Linode's
// Terraform provider.
func apiRoutes() []route {
	cluster, pool, slot, linode := (*state).cluster, (*state).pool, (*state).slot, (*state).linode
	const lke, lkePool, lkeNode = "/lke/clusters/{cluster}", "/lke/clusters/{cluster}/pools/{pool}", "/lke/clusters/{cluster}/nodes/{node}"
	return []route{
		{pattern: "GET /lke/clusters", scope: lkeRead, list: true, serve: (*state).listClusters},
		{pattern: "POST /lke/clusters", scope: lkeWrite, serve: (*state).createCluster},
		{pattern: "GET " + lke, scope: lkeRead, serve: onObject(cluster, (*state).getCluster)},
		{pattern: "PUT " + lke, scope: lkeWrite, serve: onObject(cluster, (*state).updateCluster)},
		{pattern: "DELETE " + lke, scope: lkeWrite, serve: onObject(cluster, (*state).removeCluster)},
		{pattern: "GET " + lke + "/kubeconfig", scope: lkeWrite, serve: onObject(cluster, (*state).getKubeconfig)},
		{pattern: "POST " + lke + "/recycle", scope: lkeWrite, serve: onObject(cluster, (*state).recycleCluster)},

		{pattern: "GET " + lke + "/pools", scope: lkeRead, list: true, serve: onObject(cluster, (*state).listPools)},
		{pattern: "POST " + lke + "/pools", scope: lkeWrite, serve: onObject(cluster, (*state).createPool)},
		{pattern: "GET " + lkePool, scope: lkeRead, serve: onObject(pool, (*state).getPool)},
		{pattern: "PUT " + lkePool, scope: lkeWrite, serve: onObject(pool, (*state).updatePool)},
		{pattern: "DELETE " + lkePool, scope: lkeWrite, serve: onObject(pool, (*state).removePool)},
		{pattern: "POST " + lkePool + "/recycle", scope: lkeWrite, serve: onObject(pool, (*state).recyclePool)},

		{pattern: "GET " + lkeNode, scope: lkeRead, serve: onObject(slot, (*state).getNode)},
		{pattern: "DELETE " + lkeNode, scope: lkeWrite, serve: onObject(slot, (*state).removeNode)},
		{pattern: "POST " + lkeNode + "/recycle", scope: lkeWrite, serve: onObject(slot, (*state).recycleNode)},

		{pattern: "GET /lke/tiers/{tier}/versions", scope: lkeRead, list: true, unmetered: true, serve: (*state).listTierVersions},

		{pattern: "GET /linode/instances", scope: linodesRead, list: true, serve: (*state).listInstances},
		{pattern: "POST /linode/instances", scope: linodesWrite, creates: true, serve: (*state).createInstance},
		{pattern: "GET /linode/instances/{instance}", scope: linodesRead, serve: onObject(linode, (*state).getInstance)},
		{pattern: "GET /linode/instances/{instance}/disks", scope: linodesRead, list: true, serve: onObject(linode, (*state).listDisks)},
		{pattern: "PUT /linode/instances/{instance}", scope: linodesWrite, serve: onObject(linode, (*state).updateInstance)},
		{pattern: "DELETE /linode/instances/{instance}", scope: linodesWrite, serve: onObject(linode, (*state).removeInstance)},

		{pattern: "GET /linode/types", list: true, serve: (*state).listTypes},
		{pattern: "GET /regions", list: true, serve: (*state).listRegions},
		{pattern: "GET /regions/availability", list: true, serve: (*state).listAvailability},
		{pattern: "GET /regions/{region}/availability", serve: (*state).regionAvailability},

		{pattern: "GET /images", scope: imagesRead, list: true, serve: listObjects(
			func(st *state) []Image { return valuesByID(st.assets.images) }, "id", "label", "description", "created_by", "type",
			"status", "is_public", "deprecated", "size", "vendor", "tags")},
		{pattern: "GET /images/{image...}", scope: imagesRead, serve: getObject(
			func(st *state, q *request) *Image { return st.assets.images[q.http.PathValue("image")] })},
		{pattern: "GET /networking/firewalls", scope: firewallRead, list: true, serve: listObjects(
			func(st *state) []Firewall { return valuesByID(st.assets.firewalls) }, "id", "label", "tags", "status")},
		{pattern: "GET /networking/firewalls/{firewall}", scope: firewallRead, serve: getObject(
			func(st *state, q *request) *Firewall { return st.assets.Firewall(q.id("firewall")) })},
		{pattern: "GET /vpcs", scope: vpcRead, list: true, serve: listObjects(
			func(st *state) []VPC { return viewsOf(valuesByID(st.assets.vpcs), VPC.view) }, "id", "label", "description", "region")},
		{pattern: "GET /placement/groups", scope: linodesRead, list: true, serve: listObjects(
			func(st *state) []Placement { return valuesByID(st.assets.groups) }, "id", "label", "region", "placement_group_type",
			"is_compliant")},
		{pattern: "POST /placement/groups", scope: linodesWrite, serve: (*state).createGroup},
		{pattern: "GET /placement/groups/{group}", scope: linodesRead, serve: getObject((*state).group)},
		{pattern: "DELETE /placement/groups/{group}", scope: linodesWrite, serve: onObject((*state).group, (*state).removeGroup)},
		{pattern: "GET /account/events", scope: eventsRead, list: true, serve: (*state).listEvents},
		{pattern: "GET /account/maintenance", scope: accountRead, list: true, serve: (*state).listMaintenance},
		{pattern: "GET /account", scope: accountRead, serve: (*state).getAccount},
	}
}

// routes routes paths without their version. A path without a route gets "Not found", or 405 if another method has
// a route.
func (s *Simulator) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range apiRoutes() {
		mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, rt) })
	}
	known := func(method string, r *http.Request) bool {
		other := *r
		other.Method = method
		_, pattern := mux.Handler(&other)
		return pattern != "/"
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		rt := route{pattern: r.Method + " (unknown)", serve: func(*state, *request) (any, error) { return nil, notFound() }}
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			if known(method, r) {
				rt.serve = func(*state, *request) (any, error) {
					return nil, refusalError(http.StatusMethodNotAllowed, "", "Method Not Allowed")
				}
			}
		}
		s.serve(w, r, rt)
	})
	return mux
}

// request is a call for a handler.
type request struct {
	http *http.Request
	body []byte // a JSON object, or empty
	now  time.Time
}

// id reads a numeric part of the path; 0, which is not an id, if it is not a number.
func (q *request) id(name string) int {
	n, err := strconv.Atoi(q.http.PathValue(name))
	if err != nil {
		return 0
	}
	return n
}

// read decodes the body. A key that is null counts as missing, as in recorded requests. A value of a wrong type is
// an error of the client, with a text of the simulator.
func (q *request) read(into any) error {
	err := json.Unmarshal(q.body, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field, _, _ := strings.Cut(wrong.Field, ".")
		return refusalError(http.StatusBadRequest, field, fmt.Sprintf("Must be of type %s", wrong.Type))
	}
	return nil // an empty body leaves everything out
}
