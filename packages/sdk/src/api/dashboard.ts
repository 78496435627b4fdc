import { dashboard } from '@chancery/contract'
import { type ConnectomeSummary, type JsonObject, type JsonValue, shape } from '@chancery/protocol'
import { bytes, json, text } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'

/** GET /dashboard.json (protocol/core 20.5). The rows are for display; their members may change. */
export type DashboardView = {
  readonly sovereign: { readonly id: string; readonly version: string }
  readonly readiness: { readonly status: string; readonly backend: string }
  /** Null where the authority does not report it. */
  readonly signing_key: { readonly key_id: string; readonly valid_to: string; readonly days_left: number } | null
  readonly nodes: { readonly active: number; readonly tracked: number }
  readonly connectome_summary: ConnectomeSummary
  readonly treaty_summary: {
    readonly total: number
    readonly active: number
    readonly expiring_soon: number
    readonly expired: number
    readonly revoked: number
    readonly replaced: number
    readonly warning_count: number
  }
  readonly treaties: readonly JsonObject[]
  /** The own revocation feed; null where the authority has none or does not report it. */
  readonly own_feed: {
    readonly sequence: number
    readonly issued_at: string
    readonly age_hours: number
    readonly ids: number
    readonly total_ids: number
    readonly parts: number
    /** Ids left out because their attestations ended; null when there are too many to count. */
    readonly pruned: number | null
    readonly capacity: number
  } | null
  readonly revocation_feed_summary: {
    readonly count: number
    readonly freshness: string
    readonly stale_count: number
    readonly watch_count: number
  }
  readonly revocation_feeds: readonly JsonObject[]
  readonly boundary_policies: JsonObject
  /** Decisions of the last hour by who asked and result; null where the authority does not report them. */
  readonly decisions: Readonly<
    Record<'operator' | 'node' | 'partner_node' | 'relay', { readonly authorized: number; readonly denied: number }>
  > | null
  readonly recent_changes: readonly JsonObject[]
  readonly warnings: readonly string[]
  readonly links: JsonObject
}

export interface DashboardApi {
  /** A public summary of the network state. */
  view(options?: CallOptions): Promise<DashboardView>
  /** Returns the HTML page at the root. */
  home(options?: CallOptions): Promise<string>
  page(options?: CallOptions): Promise<string>
  /** Returns the HTML of the operator page. The operator key stays in that page. */
  operator(options?: CallOptions): Promise<string>
  /** Returns the HTML frame of a page below /operator, for example `nodes`. */
  operatorPage(page: string, options?: CallOptions): Promise<string>
  faviconIco(options?: CallOptions): Promise<Uint8Array>
  faviconSvg(options?: CallOptions): Promise<Uint8Array>
  consoleStyles(options?: CallOptions): Promise<Uint8Array>
  consoleScript(options?: CallOptions): Promise<Uint8Array>
  consoleLogo(options?: CallOptions): Promise<Uint8Array>
  /** A file of the operator console, by its name with digest. */
  consoleFile(file: string, options?: CallOptions): Promise<Uint8Array>
}

const word = shape.required(shape.string)
const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))
const MANY = { max: 10_000_000 } as const
const object = (value: JsonValue, place: string): JsonObject => shape.object(value, place)
const decided = shape.required(shape.open({ authorized: whole, denied: whole }))
const objects = shape.required(shape.arrayOf(object, MANY))

const readView = shape.open({
  sovereign: shape.required(shape.open({ id: word, version: word })),
  readiness: shape.required(shape.open({ status: word, backend: word })),
  signing_key: shape.withDefault(shape.nullable(shape.open({ key_id: word, valid_to: word, days_left: whole })), null),
  nodes: shape.required(shape.open({ active: whole, tracked: whole })),
  connectome_summary: shape.required(
    shape.open({
      sovereign_count: whole,
      recognition_edge_count: whole,
      active_edge_count: whole,
      revoked_edge_count: whole,
      revoked_trust_material_count: whole,
      imported_revocation_count: whole,
    }),
  ),
  treaty_summary: shape.required(
    shape.open({
      total: whole,
      active: whole,
      expiring_soon: whole,
      expired: whole,
      revoked: whole,
      replaced: whole,
      warning_count: whole,
    }),
  ),
  treaties: objects,
  own_feed: shape.withDefault(
    shape.nullable(
      shape.open({
        sequence: whole,
        issued_at: word,
        age_hours: whole,
        ids: whole,
        total_ids: whole,
        parts: whole,
        pruned: shape.withDefault(shape.nullable(shape.integer(0, Number.MAX_SAFE_INTEGER)), null),
        capacity: whole,
      }),
    ),
    null,
  ),
  revocation_feed_summary: shape.required(
    shape.open({ count: whole, freshness: word, stale_count: whole, watch_count: whole }),
  ),
  revocation_feeds: objects,
  boundary_policies: shape.required(object),
  decisions: shape.withDefault(
    shape.nullable(shape.open({ operator: decided, node: decided, partner_node: decided, relay: decided })),
    null,
  ),
  recent_changes: objects,
  warnings: shape.required(shape.arrayOf(shape.string, MANY)),
  links: shape.required(object),
})

export function dashboardApi({ call }: Connection): DashboardApi {
  return {
    view: (options) => call({ route: dashboard.view, read: json((value) => readView(value, '')), options }),
    home: (options) => call({ route: dashboard.home, read: text, options }),
    page: (options) => call({ route: dashboard.page, read: text, options }),
    operator: (options) => call({ route: dashboard.operator, read: text, options }),
    operatorPage: (page, options) => call({ route: dashboard.operatorPage, params: { page }, read: text, options }),
    faviconIco: (options) => call({ route: dashboard.faviconIco, read: bytes, options }),
    faviconSvg: (options) => call({ route: dashboard.faviconSvg, read: bytes, options }),
    consoleStyles: (options) => call({ route: dashboard.consoleStyles, read: bytes, options }),
    consoleScript: (options) => call({ route: dashboard.consoleScript, read: bytes, options }),
    consoleLogo: (options) => call({ route: dashboard.consoleLogo, read: bytes, options }),
    consoleFile: (file, options) => call({ route: dashboard.consoleFile, params: { file }, read: bytes, options }),
  }
}
