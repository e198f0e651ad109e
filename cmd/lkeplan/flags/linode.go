package flags

import (
	"fmt"

	"github.com/lkeplan/lkeplan/linode/api"
)

// Linode is a client of the Linode API at LINODE_URL, with the token in LINODE_TOKEN. The
// error where there is none says what it has to be allowed.
func Linode(env *Env, may string) (*api.Client, error) {
	token := env.Getenv("LINODE_TOKEN")
	if token == "" {
		return nil, fmt.Errorf("no Linode API token; set LINODE_TOKEN to one that may %s", may)
	}
	return api.New(env.Getenv("LINODE_URL"), token, api.Options{})
}
