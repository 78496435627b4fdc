/** Requests of the generator. It builds the bytes itself, before its clock starts. */
export type RequestPlan =
  | { readonly kind: 'plain'; readonly path: string; readonly headers?: Readonly<Record<string, string>> }
  | {
      readonly kind: 'operator'
      /** The path that is signed. */
      readonly path: string
      /** The path that is sent, when that is another one: through a gateway. */
      readonly sentTo?: string
      readonly headers?: Readonly<Record<string, string>>
      readonly audience: string
      readonly keyId: string
      readonly seed: string
    }
  /** One request per line of a file that was written and signed before the slice. */
  | { readonly kind: 'bodies'; readonly path: string; readonly file: string }
  /** Like `lines`, with headers: lines of JSON with `headers` and `body`. */
  | { readonly kind: 'signed-bodies'; readonly path: string; readonly file: string }

export interface LoadTask {
  readonly plan: RequestPlan
  readonly host: string
  readonly port: number
  /** Further processes of the same server: connections are spread over all of them. */
  readonly morePorts?: readonly number[]
  readonly connections: number
  /** Loopback addresses to connect from, in turn; the usual one when absent. */
  readonly addresses?: readonly string[]
  /** The slice ends after this time or after this many requests, whichever comes first. */
  readonly seconds: number
  readonly maxRequests: number
  /** Requests per second of all connections together; as many as the server answers when absent. */
  readonly pace?: number
}

export interface LoadReport {
  readonly requests: number
  readonly seconds: number
  readonly rate: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Processor time of the generator itself. Near 1, the generator would be the limit. */
  readonly generatorCores: number
}

export type WorkerMessage = { readonly report: LoadReport } | { readonly problem: string }
