package nomad

import (
	"encoding/json"

	"gpupool/domain"
)

// Render is the job that Submit would register for an attempt on one node, as
// JSON of the job object; Namespace is where it goes. It calls nobody.
func (c *Client) Render(s domain.RunSpec) (job []byte, namespace string, err error) {
	j, err := c.render(s, "")
	if err != nil {
		return nil, "", err
	}
	job, err = json.Marshal(j)
	return job, c.namespace(s.Org), err
}
