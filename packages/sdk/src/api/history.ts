import { history } from '@chancery/contract'
import { field, readTrustHistoryPage, shape } from '@chancery/protocol'
import type { RecordSubject, SubjectKind, TrustHistoryPage } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'

export interface PastQuery {
  readonly id: string
  /** Without it, the kind of the stored record. */
  readonly kind?: RecordSubject
  /** The partner that issued an attestation. */
  readonly issuer_sovereign_id?: string
  readonly at: string
}

/** What the authority says. Verify its page with `verifyPast`: the state is a convenience. */
export interface PastAnswer {
  readonly state: string
  readonly reason: string
  readonly kind: RecordSubject
  readonly page: TrustHistoryPage
}

export interface ArchiveQuery {
  readonly kind: SubjectKind
  readonly cursor?: string
  readonly limit?: number
}

export interface ArchivePage {
  readonly count: number
  readonly page: TrustHistoryPage
  readonly next_cursor: string | null
}

export interface HistoryApi {
  /** Beta. As operator. */
  trusted(query: PastQuery, options?: CallOptions): Promise<PastAnswer>
  /** Beta. As operator. One signed page; write all of them for an archive. */
  archive(query: ArchiveQuery, options?: CallOptions): Promise<ArchivePage>
}

const page = shape.required((value: Parameters<typeof readTrustHistoryPage>[0]) => readTrustHistoryPage(value))
const readAnswer = known({
  state: shape.required(shape.string),
  reason: shape.required(shape.string),
  kind: shape.required(shape.oneOf('certificate', 'attestation', 'treaty')),
  page,
})
const readPage = known({
  count: shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER)),
  page,
  next_cursor: shape.required(shape.nullable(field.plainText(4096))),
})

export function historyApi({ call }: Connection): HistoryApi {
  return {
    trusted: (query, options) =>
      call({ route: history.trusted, query: { ...query }, read: json((value) => readAnswer(value, '')), options }),
    archive: ({ limit, ...query }, options) =>
      call({
        route: history.archive,
        query: { ...query, ...(limit === undefined ? {} : { limit: String(limit) }) },
        read: json((value) => readPage(value, '')),
        options,
      }),
  }
}
