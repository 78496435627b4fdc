import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** Addresses that pages had before, with the heading that has their text now. A stored link still leads there. */
const MOVED = {
  '/evidence/authzen/': '/evidence/#figures',
  '/evidence/benches/': '/evidence/#figures',
  '/evidence/demo/': '/evidence/#figures',
  '/evidence/first-hour/': '/first-hour/',
  '/evidence/http-check-tries/': '/how-to/http-check/',
  '/evidence/incidents/': '/evidence/#not-driven',
  '/evidence/instances/': '/evidence/#figures',
  '/evidence/mcp/': '/evidence/#figures',
  '/evidence/outside-evidence/': '/evidence/#figures',
  '/evidence/packaging/': '/evidence/',
  '/evidence/succession/': '/evidence/#figures',
  '/decisions/0001-runtime/': '/decisions/0001-runtime-and-packages/#runtime-and-language',
  '/decisions/0002-http-framework/': '/decisions/0002-http/#http-edge',
  '/decisions/0003-database-access/': '/decisions/0003-database/#database-access',
  '/decisions/0004-canonical-json/': '/decisions/0004-records/#canonical-json',
  '/decisions/0005-dependencies/': '/decisions/0001-runtime-and-packages/#dependencies',
  '/decisions/0006-ed25519-strictness/': '/decisions/0006-keys/#one-strict-ed25519-verification',
  '/decisions/0007-default-policy-id/': '/decisions/0004-records/#default-policy-id',
  '/decisions/0009-bodies-on-the-event-loop/': '/decisions/0002-http/#request-bodies-on-the-event-loop',
  '/decisions/0010-node-keys-and-subgroups/': '/decisions/0006-keys/#which-keys-get-the-full-subgroup-check',
  '/decisions/0011-bounds-we-set/': '/decisions/0004-records/#bounds-the-protocol-leaves-open',
  '/decisions/0012-trust-records/': '/decisions/0004-records/#one-description-for-each-trust-record',
  '/decisions/0013-gateway-edge-and-state/': '/decisions/0002-http/#gateway-edge-threads-and-state',
  '/decisions/0014-boundary-policies/': '/decisions/0004-records/#boundary-policies',
  '/decisions/0015-what-a-request-costs/': '/decisions/0002-http/#cost-of-a-request',
  '/decisions/0016-disclosure-consensus-usage/': '/decisions/0004-records/#disclosure-consensus-and-data-usage',
  '/decisions/0017-evidence-store/': '/decisions/0017-evidence/#evidence-store',
  '/decisions/0019-cut-commits/': '/decisions/0003-database/#interrupted-commit',
  '/decisions/0021-audit-numbers/': '/decisions/0021-audit/#audit-sequence-numbers',
  '/decisions/0022-key-succession/': '/decisions/0006-keys/#key-succession',
  '/decisions/0023-explorer/': '/decisions/0018-console/#endpoint-explorer',
  '/decisions/0027-order-of-settings/': '/decisions/0027-settings/#order-of-settings',
  '/decisions/0028-access-lines/': '/decisions/0002-http/#access-log',
  '/decisions/0030-end-of-certificates/': '/decisions/0006-keys/#removal-of-certificates-and-audit-events',
  '/decisions/0031-own-hash-and-curve-code/': '/decisions/0006-keys/#sha-256-and-the-subgroup-check-without-a-library',
  '/decisions/0032-former-names/': '/decisions/0001-runtime-and-packages/#names-of-the-client-library',
  '/decisions/0033-command-line-profile/': '/decisions/0027-settings/#default-network-of-the-command-line',
  '/decisions/0034-published-packages/':
    '/decisions/0001-runtime-and-packages/#published-packages-their-runtimes-and-the-test-kit',
  '/decisions/0035-operators-file/': '/decisions/0027-settings/#operators-in-a-file',
  '/decisions/0036-operator-reads/': '/decisions/0018-console/#reads-of-operators',
  '/decisions/0037-operator-console/': '/decisions/0018-console/#operator-console',
  '/decisions/0038-change-stream/': '/decisions/0018-console/#change-stream',
  '/decisions/0041-evidence-pack/': '/decisions/0041-exchange-formats/#evidence-pack',
  '/decisions/0042-agent-cards/': '/decisions/0041-exchange-formats/#signed-agent-cards',
  '/decisions/0044-exports/': '/decisions/0021-audit/#exports-for-other-programs',
  '/decisions/0046-log-witnesses/': '/decisions/0041-exchange-formats/#witnesses-of-the-evidence-log',
  '/decisions/0047-wimse/': '/decisions/0041-exchange-formats/#wimse-and-signed-authorization',
  '/decisions/0048-releases/': '/decisions/0001-runtime-and-packages/#versions-and-signed-releases',
  '/decisions/0051-connection-pooler/': '/decisions/0003-database/#connection-pooler-in-transaction-mode',
  '/decisions/0053-evidence-archive/': '/decisions/0017-evidence/#evidence-archive',
  '/decisions/0054-read-replica/': '/decisions/0003-database/#reads-from-a-replica',
  '/decisions/0056-evidence-partitions/': '/decisions/0017-evidence/#evidence-in-partitions',
  '/decisions/0057-image-and-platforms/': '/decisions/0001-runtime-and-packages/#image-and-platforms',
  '/decisions/0058-audit-partitions/': '/decisions/0021-audit/#audit-events-in-partitions',
  '/how-to/join-from-github/': '/how-to/join-with-a-platform/#jobs-of-github-actions',
  '/how-to/join-from-gitlab/': '/how-to/join-with-a-platform/#jobs-of-gitlab-ci',
  '/how-to/join-from-kubernetes/': '/how-to/join-with-a-platform/#pods-of-kubernetes',
  '/how-to/join-with-jwt-svid/': '/how-to/join-with-a-platform/#spiffe-workloads-with-a-jwt-svid',
  '/how-to/join-with-oidc/': '/how-to/join-with-a-platform/#any-other-issuer',
  '/how-to/join-with-x509-svid/': '/how-to/join-with-a-platform/#spiffe-workloads-with-an-x509-svid',
  '/operate/point-in-time-recovery/': '/operate/backup/#point-in-time-recovery',
  '/operate/large-fleets/': '/operate/workers/#large-fleets',
  '/operate/traces/': '/operate/monitoring/#traces',
}

/** Each command has a separate address, which leads to its heading on the page of its group. */
function commands(folder) {
  const groups = globSync('*.md', { cwd: folder }).map((file) => basename(file, '.md'))
  const headings = groups.flatMap((group) =>
    [...readFileSync(join(folder, `${group}.md`), 'utf8').matchAll(/^## chancery (.+)$/gm)].map(([, words = '']) => {
      const name = words.replaceAll(' ', '-')
      return [name, `/reference/commands/${group}/#chancery-${name}`]
    }),
  )
  // The page of a group has the address that a command with its name would have.
  return headings
    .filter(([name]) => !groups.includes(name))
    .map(([name, target]) => [`/reference/commands/${name}/`, target])
}

/** Below which address the site is served is part of the target only. */
export function redirects(base, docs = '../docs') {
  const below = base.replace(/\/$/, '')
  return Object.fromEntries(
    [...Object.entries(MOVED), ...commands(join(docs, 'reference/commands'))].map(([from, to]) => [from, below + to]),
  )
}
