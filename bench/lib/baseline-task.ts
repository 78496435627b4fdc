/** Response of the baseline, copied from the product. */
export interface BaselineDocument {
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

export interface BaselineTask {
  readonly port: number
  readonly documents: readonly BaselineDocument[]
  /** Per call one verification over that many bytes and one nonce row in that database. */
  readonly work?: { readonly messageBytes: number; readonly databaseUrl: string }
}
