/** Encoding classes of every platform; the compiler's own library does not list them. */
interface TextPlatform {
  readonly TextEncoder: new () => { encode(text: string): Uint8Array<ArrayBuffer> }
  readonly TextDecoder: new (
    label: 'utf-8',
    options: { fatal: true; ignoreBOM: true },
  ) => { decode(bytes: Uint8Array): string }
}

const platform = globalThis as unknown as TextPlatform
const encoder = new platform.TextEncoder()
// A byte order mark stays in the text, where the reader refuses it.
const decoder = new platform.TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function toUtf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text)
}

/** The text of well-formed UTF-8 bytes, or undefined. */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
