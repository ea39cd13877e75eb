# Rights of the portal's token before Nomad 1.11.2, which knows no finer right
# than submit-job: it includes purging. Otherwise as gpupool.policy.hcl.

namespace "gpupool-*" {
  capabilities = ["list-jobs", "read-job", "submit-job", "parse-job", "read-logs", "alloc-lifecycle"]
}

namespace "*" {
  capabilities = ["list-jobs", "read-job"]
}

node {
  policy = "write"
}

agent {
  policy = "read"
}

operator {
  policy = "read"
}
