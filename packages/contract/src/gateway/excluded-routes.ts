import type { RouteId } from '../route.ts'

const PAGE = 'A page for people; the gateway has its own.'
const FILE = 'A file of the pages.'
const PROCESS = 'Describes one process of the authority, not the network.'
const BETA = 'Ours alone and beta; operation ids are permanent, so it waits until stable.'
const LOG = 'A transparency log is read by its own clients, straight from its public address, and is not JSON.'

/**
 * Authority routes that the gateway does not forward, each with its reason (protocol/gateway 13). A route that is
 * neither here nor in the catalogue fails the build, so forwarding is always an explicit decision.
 */
export const EXCLUDED_ROUTES: Readonly<Partial<Record<RouteId, string>>> = {
  'GET /': PAGE,
  'GET /dashboard': PAGE,
  'GET /operator': PAGE,
  'GET /operator/{page}': PAGE,
  'GET /connectome': PAGE,
  'GET /atlas': PAGE,
  'GET /api-reference': PAGE,
  'GET /cli-reference': PAGE,
  'GET /favicon.ico': FILE,
  'GET /favicon.svg': FILE,
  'GET /operator-console-static/styles.css': FILE,
  'GET /operator-console-static/console.js': FILE,
  'GET /operator-console-static/logo.svg': FILE,
  'GET /operator-console-static/operator/{file}': FILE,
  'GET /metrics': PROCESS,
  'GET /healthz': PROCESS,
  'GET /swagger.json': PROCESS,
  'GET /surfaces': PROCESS,
  'POST /admin/admission-rules': BETA,
  'GET /admin/admission-rules': BETA,
  'POST /admin/admission-rules/{rule_id}/test': BETA,
  'POST /admin/admission-rules/{rule_id}/remove': BETA,
  'POST /admin/boundary-policies/simulate': BETA,
  'POST /admin/data-usage/violations': BETA,
  'GET /crl/keys/{key_id}': 'Ours alone and beta; gateways read it themselves.',
  'GET /crl/delta': 'Ours alone and beta; gateways read it themselves.',
  'GET /crl/{sequence}': BETA,
  'GET /key-succession': BETA,
  'GET /key-history': BETA,
  'POST /admin/invites': BETA,
  'GET /admin/invites': BETA,
  'POST /admin/invites/withdraw': BETA,
  'GET /admin/agents': BETA,
  'GET /admin/agents/capabilities': BETA,
  'GET /admin/nodes': BETA,
  'GET /admin/nodes/{node_public_key}': BETA,
  'GET /admin/nodes/{node_public_key}/events': BETA,
  'GET /admin/operator-keys': BETA,
  'GET /admin/whoami': BETA,
  'GET /admin/operator-keys/{key_id}/activity': BETA,
  'GET /admin/audit': BETA,
  'GET /admin/boundary-policy-texts/{text_digest}': BETA,
  'GET /admin/findings': BETA,
  'GET /admin/history/archive': BETA,
  'GET /admin/history/trusted': BETA,
  'GET /admin/changes': BETA,
  'GET /admin/evidence/counts': BETA,
  'GET /admin/evidence/rejections': BETA,
  'POST /admin/evidence/bundles': BETA,
  'POST /present': 'Beta: a node presents its certificate to its authority itself.',
  'POST /wit': 'Beta: a node asks its authority itself for workload identity tokens.',
  'POST /admin/recognition-treaties/{treaty_id}/renew': BETA,
  'GET /evidence-log': LOG,
  'GET /evidence-log/cosigned-checkpoint': LOG,
  'GET /evidence-log/checkpoint': LOG,
  'GET /evidence-log/tile/{tile}': LOG,
  'GET /admin/evidence-log/receipts/{decision_id}': LOG,
  'GET /admin/evidence-log/witnesses': LOG,
  'GET /admin/evidence-log/entries/{tile}': LOG,
}
