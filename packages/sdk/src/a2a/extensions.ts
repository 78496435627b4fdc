import { fromBase64, isJsonObject, member, toBase64, toUtf8, writeJson } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'

/** Under this name a card carries the certificate of the key that signed it. */
export const CERTIFICATE_EXTENSION = 'urn:chancery:agent-certificate:v1'

/** Under this name a card carries the signed registration it was made from. */
export const DESCRIPTOR_EXTENSION = 'urn:chancery:agent-descriptor:v1'

/** Records travel as one base64 text: readers of cards drop empty members, and write 1.0 as 1. */
export function carriedRecord(record: JsonValue): string {
  return toBase64(toUtf8(writeJson(record)))
}

/** The bytes of a record in the params of an extension; undefined when it is not base64. */
export function carriedBytes(params: JsonObject, name: string): Uint8Array | undefined {
  const text = member(params, name)
  return typeof text === 'string' && text !== '' ? fromBase64(text) : undefined
}

/** All entries of an extension in a card. A reader must not choose between two. */
export function extensionsOf(card: JsonObject, uri: string): readonly JsonObject[] {
  return listOf(card).filter((each) => isJsonObject(each) && member(each, 'uri') === uri) as readonly JsonObject[]
}

/** The card with this entry as the last one, in place of all former entries of its uri. */
export function withExtension(card: JsonObject, extension: JsonObject & { readonly uri: string }): JsonObject {
  const capabilities = member(card, 'capabilities')
  const others = listOf(card).filter((each) => !isJsonObject(each) || member(each, 'uri') !== extension.uri)
  return {
    ...card,
    capabilities: { ...(isJsonObject(capabilities) ? capabilities : {}), extensions: [...others, extension] },
  }
}

function listOf(card: JsonObject): readonly JsonValue[] {
  const capabilities = member(card, 'capabilities')
  const extensions = isJsonObject(capabilities) ? member(capabilities, 'extensions') : undefined
  return Array.isArray(extensions) ? (extensions as readonly JsonValue[]) : []
}
