import { LIMITS, enrollment } from '@chancery/contract'
import { shape } from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { allRows } from './pages.ts'
import { type Paging, paging } from './page.ts'

export type IssuedState = 'valid' | 'superseded' | 'expired' | 'revoked'

/** A type, not an interface: it is JSON and may be passed on as such. */
export type IssuedCertificate = {
  readonly cert_id: string
  readonly node_public_key: string
  readonly roles: readonly string[]
  readonly issued_at: string
  readonly expires_at: string
  readonly state: IssuedState
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  readonly renewed_from: string | null
  readonly renewed_by: string | null
  /** This and the next two are null after a revocation, and some time after the end. */
  readonly last_heartbeat: string | null
  readonly heartbeat_status: string | null
  readonly remote_addr: string | null
  readonly label: string | null
}

export interface CertificateFilter {
  readonly state?: IssuedState
  readonly cert_id?: string
  readonly node_public_key?: string
  readonly role?: string
  /** Contained in the label, in any case. */
  readonly label?: string
  readonly issued_since?: string
  readonly issued_until?: string
  readonly expires_before?: string
}

export interface CertificatePage extends Paging {
  readonly count: number
  /** Newest first. A page with a filter may have fewer rows than the limit although there are more. */
  readonly certificates: readonly IssuedCertificate[]
}

export interface InventoryApi {
  /** As operator: one page of all issued certificates. */
  certificates(
    query?: CertificateFilter & { readonly limit?: number; readonly cursor?: string },
    options?: CallOptions,
  ): Promise<CertificatePage>
  /** Returns all of them, page after page. */
  listCertificates(
    query?: CertificateFilter & { readonly limit?: number },
    options?: CallOptions,
  ): AsyncGenerator<IssuedCertificate, void, undefined>
  /** As operator: names a node key for operators; null removes the name. */
  labelNode(
    nodePublicKey: string,
    label: string | null,
    options?: CallOptions,
  ): Promise<{ readonly node_public_key: string; readonly label: string | null }>
}

const word = shape.required(shape.string)
const wordOrNull = shape.required(shape.nullable(shape.string))

const readRow = shape.open({
  cert_id: word,
  node_public_key: word,
  roles: shape.required(shape.arrayOf(shape.string, { max: 64 })),
  issued_at: word,
  expires_at: word,
  state: shape.required(shape.oneOf('valid', 'superseded', 'expired', 'revoked')),
  revoked_at: wordOrNull,
  revocation_reason: wordOrNull,
  renewed_from: wordOrNull,
  renewed_by: wordOrNull,
  last_heartbeat: wordOrNull,
  heartbeat_status: wordOrNull,
  remote_addr: wordOrNull,
  label: wordOrNull,
})

const readPage = shape.open({
  count: shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER)),
  certificates: shape.required(shape.arrayOf(readRow, { max: LIMITS.listPageRows })),
  ...paging,
})

const readLabelled = shape.open({ node_public_key: word, label: wordOrNull })

export function inventoryApi({ call }: Connection): InventoryApi {
  const certificates: InventoryApi['certificates'] = (query = {}, options) =>
    call({ route: enrollment.certificates, query: { ...query }, read: json((value) => readPage(value, '')), options })
  return {
    certificates,
    listCertificates: ({ limit, ...filter } = {}, options) =>
      allRows(
        (bounds) => certificates({ ...filter, ...bounds }, options),
        (page) => page.certificates,
        limit,
      ),
    labelNode: (node_public_key, label, options) =>
      call({
        route: enrollment.labelNode,
        body: { node_public_key, label },
        repeatable: true,
        read: json((value) => readLabelled(value, '')),
        options,
      }),
  }
}
