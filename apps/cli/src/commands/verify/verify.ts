import { open, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { detectRecordKind, fromUtf8, readEventLine, readInstant, readPublicKey } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { MAX_PACK_LENGTH, isEvidencePack, isEvidencePage } from '@chancery/sdk/internal'
import type { Arguments, Options } from '../../arguments/options.ts'
import { findConfig } from '../../connection/target.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { readBytes, readText, toFailure } from '../../files/files.ts'
import { loadVerifiedGenesis } from '../../files/genesis-file.ts'
import { parseJsonObject, parseObject } from '../../files/json-file.ts'
import { loadKeysByName } from '../../files/named-keys.ts'
import type { Result } from '../../output/screen.ts'
import { verifyCard } from '../agents/card-verify.ts'
import { askAboutAgreement } from '../agreements/agreements.ts'
import { verifyCertificate } from '../cert/verify.ts'
import { checkUsage } from '../data-usage/data-usage.ts'
import { verifyExport } from '../evidence/verify.ts'
import { verifyGatewayState } from '../gateway/tools.ts'
import { RELEASE_FILE } from '../release/release-files.ts'
import { verifyRelease } from '../release/verify.ts'
import { verifyBundle } from './bundle.ts'
import { verifyPackFile } from './pack.ts'
import { isReceipt, verifyReceiptFile } from './receipt.ts'
import { verifyRecord } from './records.ts'
import { replayDecision } from './replay.ts'
import { withCompanions } from './companions.ts'

/** Runs `verify`: finds out what the file is, and verifies it with the keys that the options or the target name. */
export async function runVerify(context: CommandContext, args: Arguments, given: Options): Promise<Result> {
  const [file, at] = [args.required('file'), given.text('at')]
  const there = at === undefined ? context : { ...context, now: readTime(at) }
  const options = await withCompanions(there, await withTarget(there, given))
  if (/^https?:\/\//i.test(file)) return verifyAs('card', given, () => verifyCard(there, file, options))
  const path = resolve(context.cwd, file)
  const found = await stat(path).catch((error: unknown) => {
    // The decision itself, at the authority.
    if (given.isSet('replay') && !/[/.]/.test(file)) return undefined
    throw toFailure(error, file, 'read')
  })
  if (found === undefined) return replayDecision(there, file, options)
  if (found.isDirectory()) {
    const isRelease = await stat(join(path, RELEASE_FILE)).then(
      () => true,
      () => false,
    )
    if (isRelease || given.text('as') === 'release')
      return verifyAs('release', given, () => verifyRelease(there, file, options))
    return verifyAs('archive', given, () => verifyExport(there, file, options))
  }
  if (given.isSet('replay')) return verifyAs('pack', given, () => replayDecision(there, file, options))
  return verifyFile(there, file, path, options)
}

async function verifyFile(context: CommandContext, file: string, path: string, options: Options): Promise<Result> {
  const as = options.text('as')
  const start = await readStart(path)
  if (options.isSet('floors') || as === 'gateway-state' || start.toString('latin1').startsWith('SQLite format'))
    return verifyAs('gateway-state', options, () => verifyGatewayState(context, file, options))
  if (as === 'export' || isExport(start, file))
    return verifyAs('export', options, () => verifyExport(context, file, options))
  const { size } = await stat(path)
  const bytes = size <= 256 * 1024 ? await readBytes(path) : undefined
  if (as === 'receipt' || (bytes !== undefined && isReceipt(bytes)))
    return verifyAs('receipt', options, async () =>
      verifyReceiptFile(context, bytes ?? (await readBytes(path)), options),
    )
  const text = await readText(path, MAX_PACK_LENGTH)
  if (isEvidencePage(text)) return verifyAs('pack', options, () => verifyPackFile(context, text, options))
  const value = parseObject(text, file)
  if (isEvidencePack(value)) return verifyAs('pack', options, () => verifyPackFile(context, text, options))
  if (value['payloadType'] !== undefined || value['dsseEnvelope'] !== undefined)
    return verifyAs('bundle', options, () => verifyBundle(context, text, options))
  if (value['supportedInterfaces'] !== undefined)
    return verifyAs('card', options, () => verifyCard(context, file, options))
  return verifyOne(context, file, value, options)
}

async function verifyOne(context: CommandContext, file: string, value: JsonObject, options: Options): Promise<Result> {
  const kind = detectRecordKind(value)
  const hasKeys = options.list('key').length > 0
  const isPinned = options.isSet('genesis')
  if (kind === 'join-certificate') {
    const anchors = await findAnchors(context, value, options)
    if (anchors.size > 0) return verifyAs(kind, options, () => verifyCertificate(context, file, options, anchors))
  }
  // The authority knows both parties, and whether the graph has changed since.
  if (kind === 'agreement-record' && !hasKeys && isPinned && (await findConfig(context, options)).network.na_endpoint)
    return verifyAs(kind, options, () => askAboutAgreement(context, file, options))
  if (kind === 'data-access-intent' && options.isSet('policy'))
    return verifyAs(kind, options, () => checkUsage(context, file, options))
  return verifyAs(kind ?? 'unknown', options, () => verifyRecord(context, value, options))
}

/** The given keys by the id of their issuer; else the key of the pinned authority, under the id that the record names. */
async function findAnchors(
  { cwd }: CommandContext,
  value: JsonObject,
  options: Options,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const named = Object.entries(await loadKeysByName(cwd, options))
  const pin = options.text('genesis')
  const issuer = value['issued_by']
  const block = pin === undefined || named.length > 0 ? undefined : await loadVerifiedGenesis(resolve(cwd, pin))
  // Another network, or a key of before: the record itself says more than this check.
  const isOwn = block !== undefined && value['network_name'] === block.network_name && !options.isSet('key-history')
  const all = isOwn && typeof issuer === 'string' ? [[issuer, block.network_authority.public_key] as const] : named
  const keys = all.map(([id, key]) => [id, readPublicKey(key)] as const)
  return new Map(keys.flatMap(([id, key]) => (key === undefined ? [] : [[id, key] as const])))
}

/** --as: a file of another kind is a wrong call, and says nothing about its content. */
function verifyAs(kind: string, options: Options, verify: () => Promise<Result>): Promise<Result> {
  const as = options.text('as')
  if (as === undefined || as === kind) return verify()
  throw usageError(
    `The file is a ${kind.replaceAll('-', ' ')}, not a ${as.replaceAll('-', ' ')}.`,
    'Leave out --as, or give another file.',
  )
}

/** Without a pin of its own the command trusts the network of the target. It never uses a key inside the file. */
async function withTarget(context: CommandContext, options: Options): Promise<Options> {
  if (options.isSet('genesis') || options.list('key').length > 0) return options
  const { genesis } = (await findConfig(context, options)).paths
  return genesis === undefined ? options : options.with({ genesis })
}

function readTime(text: string): () => bigint {
  const at = readInstant(text)
  if (at === undefined) throw usageError('--at is not a time in ISO 8601.', 'For example 2026-07-01T12:00:00Z.')
  return () => at
}

const START_BYTES = 256 * 1024

async function readStart(path: string): Promise<Buffer> {
  const handle = await open(path).catch((error: unknown) => {
    throw toFailure(error, path, 'read')
  })
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(START_BYTES), position: 0 })
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** Compressed, or lines of which the first is an entry of a store. */
function isExport(start: Buffer, file: string): boolean {
  if (['1f8b', '28b52ffd'].some((magic) => start.toString('hex', 0, 4).startsWith(magic))) return true
  const end = start.indexOf(10)
  const line = fromUtf8(start.subarray(0, end < 0 ? start.length : end)) ?? ''
  if (readEventLine(line) !== undefined) return true
  return /\.(?:jsonl|ndjson)$/.test(file) && parseJsonObject(start.toString('utf8')) === undefined
}
