import { AUTHORITY_SERVICE_ROUTE, GATEWAY_ROUTES, type GatewayOperation, type GatewayRoute } from '@chancery/contract'
import { sendRequest, isSuccess } from './send-request.ts'

/** An operation of an authority, or a route of the gateway itself. */
export interface Operation {
  readonly id: string
  readonly group: string
  readonly name: string
  readonly description: string
  readonly method: string
  /** Path at the authority, or at the gateway for its own routes. */
  readonly path: string
  /** True for routes of the gateway itself. */
  readonly isOwn: boolean
  readonly needsToken: boolean
  readonly needsSignature: boolean
  readonly tier: string | null
  readonly isIdempotent: boolean
  readonly parameters: readonly string[]
  readonly query: readonly string[]
  /** An example, as text; undefined where no body is sent. */
  readonly body: string | undefined
}

export interface Catalogue {
  readonly operations: readonly Operation[]
  readonly problem: string | undefined
}

export const OWN_GROUP = 'gateway'

/** Leaves out pages and their files. Forwarded operations come from the catalogue. */
const LEFT_OUT: readonly string[] = ['/', GATEWAY_ROUTES.asset.path, AUTHORITY_SERVICE_ROUTE]
const OWN_BODIES: Readonly<Record<string, string>> = {
  verify: '{"certificate":{"paste":"<join certificate>"}}',
  verifyBatch: '{"certificates":[{"paste":"<join certificate>"}]}',
}

const OWN: readonly Operation[] = Object.entries<GatewayRoute>(GATEWAY_ROUTES)
  .filter(([, { path }]) => !LEFT_OUT.includes(path))
  .map(([name, { method, path, credential, purpose }]) => ({
    id: `gateway-${name}`,
    group: OWN_GROUP,
    name: `${method} ${path}`,
    description: purpose,
    method,
    path,
    isOwn: true,
    needsToken: credential !== 'none',
    needsSignature: false,
    tier: null,
    isIdempotent: true,
    parameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter),
    query: [],
    body: OWN_BODIES[name],
  }))

/** The routes of the gateway and the catalogue it serves, by group and id. */
export async function loadCatalogue(): Promise<readonly Operation[]> {
  const reply = await sendRequest({ method: 'GET', target: GATEWAY_ROUTES.services.path })
  if (!isSuccess(reply)) throw new Error(`The catalogue could not be read: status ${reply.status}.`)
  return [...OWN, ...readCatalogue(reply.text)]
}

/** Page and catalogue are of one release, so a row has the contract's type. */
export function readCatalogue(text: string): readonly Operation[] {
  const { operations } = JSON.parse(text) as { readonly operations: readonly GatewayOperation[] }
  return operations.map((each) => ({
    id: each.id,
    group: each.group,
    name: each.name,
    description: each.description,
    method: each.method,
    path: each.upstream_path,
    isOwn: false,
    needsToken: true,
    needsSignature: each.admin,
    tier: each.tier,
    isIdempotent: each.idempotent,
    parameters: each.parameters,
    query: each.query,
    body: each.method === 'GET' ? undefined : JSON.stringify(each.body ?? {}),
  }))
}

/** Returns true when every word of the search occurs in the operation. */
export function isFound({ id, name, description, method, path }: Operation, search: string): boolean {
  const text = `${id} ${name} ${description} ${method} ${path}`.toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
