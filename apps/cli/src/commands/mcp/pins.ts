import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type JsonObject, isJsonObject, member } from '@chancery/protocol'
import { toolDigest } from '@chancery/sdk/mcp'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile } from '../../files/files.ts'
import { parseJsonObject } from '../../files/json-file.ts'

/** Digests of approved tools by name. A server may describe a tool differently in the two eras, so there are several. */
export type Pins = ReadonlyMap<string, readonly string[]>

const FORMAT = 'chancery.mcp.pins.v1'

/** Reads the pins of a server; none without a file. A damaged file is an error. */
export async function loadPins(path: string): Promise<Pins> {
  let text: string
  try {
    text = await readText(path)
  } catch (error) {
    if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return new Map()
    throw error
  }
  const value = parseJsonObject(text)
  const tools = value === undefined || member(value, 'format') !== FORMAT ? undefined : member(value, 'tools')
  if (!isJsonObject(tools) || !Object.values(tools).every(isDigests)) {
    const message = `${path} does not contain pinned tools.`
    throw new CommandError({ code: 'invalid_file', message, hint: 'Delete it, then run: chancery mcp pin' })
  }
  return new Map(Object.entries(tools) as [string, readonly string[]][])
}

function isDigests(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

export async function storePins(path: string, pins: Pins): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const document = { format: FORMAT, tools: Object.fromEntries(pins) }
  await replaceFile(path, `${JSON.stringify(document, undefined, 2)}\n`, FOR_ALL)
}

/** Returns the digests of listed tools by name; undefined for a list that cannot be used. */
export function digestsOf(tools: readonly JsonObject[]): ReadonlyMap<string, string> | undefined {
  const digests = new Map<string, string>()
  for (const tool of tools) {
    const name = member(tool, 'name')
    // With two tools of one name, it is not clear which one a call means.
    if (typeof name !== 'string' || digests.has(name)) return undefined
    digests.set(name, toolDigest(tool))
  }
  return digests
}
