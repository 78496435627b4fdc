import type { JsonObject } from '@chancery/protocol'
import { type TestAuthority, accepted } from '@chancery/testkit'

/**
 * The fields that one text is written into. Each returns the addresses of the console that show it, or undefined when
 * the authority refuses the text.
 */
export type Fields = Readonly<Record<string, () => Promise<readonly string[] | undefined>>>

/** A value as one part of a path or as a value of a query. */
export const part = (value: unknown): string => encodeURIComponent(String(value))

/** Sends a signed request, and returns what an accepted one answers. */
export async function post(na: TestAuthority, path: string, body: JsonObject): Promise<JsonObject | undefined> {
  const response = await na.as('privileged')('POST', path, body)
  return response.status < 300 ? accepted(response, response.status) : undefined
}
