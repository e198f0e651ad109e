package flags

import (
	"fmt"

	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

// Linode is a client of the Linode API at LINODE_URL, with the token in LINODE_TOKEN. The
// error where there is none says what it has to be allowed.
func Linode(env *Env, may string) (*lkeapi.Client, error) {
	token := env.Getenv("LINODE_TOKEN")
	if token == "" {
		return nil, fmt.Errorf("no Linode API token; set LINODE_TOKEN to one that may %s", may)
	}
	return lkeapi.New(env.Getenv("LINODE_URL"), token, lkeapi.Options{})
}
