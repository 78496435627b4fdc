import type { RouteId } from '../route.ts'

const PAGE = 'A page for people; the gateway has its own.'
const FILE = 'A file of the pages.'
const PROCESS = 'Describes one process of the authority, not the network.'
const LOG = 'A transparency log is read by its own clients, straight from its public address, and is not JSON.'

/**
 * Authority routes that the gateway does not forward, each with its reason (protocol/gateway 13). A route that is
 * neither here nor in the catalogue fails the build, so forwarding is always an explicit decision.
 */
export const EXCLUDED_ROUTES: Readonly<Partial<Record<RouteId, string>>> = {
  'GET /': PAGE,
  'GET /dashboard': PAGE,
  'GET /operator': PAGE,
  'GET /connectome': PAGE,
  'GET /atlas': PAGE,
  'GET /api-reference': PAGE,
  'GET /cli-reference': PAGE,
  'GET /favicon.ico': FILE,
  'GET /favicon.svg': FILE,
  'GET /operator-console-static/styles.css': FILE,
  'GET /operator-console-static/console.js': FILE,
  'GET /operator-console-static/logo.svg': FILE,
  'GET /metrics': PROCESS,
  'GET /healthz': PROCESS,
  'GET /swagger.json': PROCESS,
  'GET /surfaces': PROCESS,
  'POST /admin/boundary-policies/simulate':
    'Ours alone and beta; operation ids are permanent, so it waits until stable.',
  'GET /crl/keys/{key_id}': 'Ours alone and beta; gateways read it themselves.',
  'GET /key-succession': 'Ours alone and beta; operation ids are permanent, so it waits until stable.',
  'GET /key-history': 'Ours alone and beta; operation ids are permanent, so it waits until stable.',
  'POST /admin/invites': 'Ours alone and beta; operation ids are permanent, so it waits until stable.',
  'GET /admin/invites': 'Ours alone and beta; operation ids are permanent, so it waits until stable.',
  'POST /admin/invites/withdraw': 'Ours alone and beta; operation ids are permanent, so it waits until stable.',
  'GET /admin/operator-keys/{key_id}/activity':
    'Ours alone and beta; operation ids are permanent, so it waits until stable.',
  'GET /evidence-log/checkpoint': LOG,
  'GET /evidence-log/tile/{tile}': LOG,
  'GET /admin/evidence-log/entries/{tile}': LOG,
}
