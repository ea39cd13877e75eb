# Rights of the portal's token on Nomad 1.11.2 and later.
#   nomad acl policy apply -description "GPU pool" gpupool gpupool.policy.hcl
#   nomad acl token create -name gpupool -policy gpupool -type client
#
# It may place and stop jobs in the pool's own namespaces only. It may not purge
# a job, enter a task or read a file of one.

namespace "gpupool-*" {
  capabilities = [
    "list-jobs", "read-job", "register-job", "deregister-job", "plan-job", "parse-job",
    "read-logs", "alloc-lifecycle",
  ]
}

# GPUs that others hold are counted, so that the pool does not promise them.
namespace "*" {
  capabilities = ["list-jobs", "read-job"]
}

# Devices and sites are read; a node is taken out of scheduling and put back.
node {
  policy = "write"
}

# The version, and whether tokens are checked at all.
agent {
  policy = "read"
}

operator {
  policy = "read"
}
