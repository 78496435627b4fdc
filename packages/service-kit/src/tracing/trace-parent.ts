/** What one `traceparent` header says (W3C Trace Context). It is text of a caller: it is stored and passed on only. */
export interface TraceParent {
  /** The header as sent. */
  readonly text: string
  readonly traceId: string
}

const FORM = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
const ZEROS = /^0+$/

/** Reads the values of the header. Undefined unless there is exactly one, of version 00, and no id in it is zero. */
export function readTraceParent(values: readonly string[]): TraceParent | undefined {
  const [text, ...more] = values
  if (text === undefined || more.length > 0) return undefined
  const [, traceId, parentId] = FORM.exec(text) ?? []
  if (traceId === undefined || parentId === undefined || ZEROS.test(traceId) || ZEROS.test(parentId)) return undefined
  return { text, traceId }
}
