import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type RevocationReason, writeSortable } from '@chancery/protocol'
import { listPresented } from '../features/enrollment/index.ts'
import { describeUnknown } from '../recovery/describe-unknown.ts'
import { adoptUnknown, restoreListed, revokeAgain, revokeUnknown } from '../recovery/resolve-unknown.ts'
import { type RecoveryParts, revokeAttestations, revokeTreatiesAgain } from '../recovery/revoke-lost.ts'
import { SourceUnusableError, type UnknownCertificate, type UnknownReport, findUnknown } from '../recovery/unknown.ts'
import type { LostRecord } from '../recovery/unknown-records.ts'
import { type CommandArguments, isOperatorError, readSettingsOrExplain } from './key-succession.ts'
import { withRecovery } from './resign-lists.ts'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

/**
 * The lines of a file that are not empty. The file is opened with the first read: the interface of Node.js gives its
 * lines away from its creation on, and those before the first read would be lost.
 */
export async function* readLines(path: string): AsyncGenerator<string> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: 0 })) if (line !== '') yield line
}

export interface UnknownArguments extends CommandArguments {
  /** Audit events that were exported before the loss, as JSON Lines. */
  readonly audit?: string
  /** A certificate, or a folder with some, as nodes store them. */
  readonly certificates?: string
  /** Also the certificates that nodes presented. */
  readonly presented?: boolean
  /** What to do with records that the database lacks. */
  readonly unknown: 'list' | 'revoke' | 'adopt'
  readonly reason: RevocationReason
}

/** After a recovery: lists records that others have and the restored database lacks, and adopts or revokes them. */
export async function recoverUnknown(args: UnknownArguments): Promise<number> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return 1
  try {
    const certificates = args.certificates === undefined ? [] : await readTexts(args.certificates)
    if (args.audit !== undefined) await requireFile(args.audit)
    const lines = await withRecovery(settings, async (parts) => {
      if (parts.rollback.isHalted()) throw new SourceUnusableError(parts.rollback.haltText)
      const report = await findUnknown(parts, {
        events: args.audit === undefined ? [] : readLines(args.audit),
        certificates: [...certificates, ...(args.presented === true ? await readPresented(parts) : [])],
      })
      return [...describeUnknown(report), ...(await resolve(parts, report, args))]
    })
    process.stdout.write(`${lines.join('\n')}\n`)
    return 0
  } catch (error) {
    const isKnown = error instanceof SourceUnusableError
    if (!(error instanceof Error) || (!isKnown && !isOperatorError(error))) throw error
    process.stderr.write(`chancery: nothing was changed: ${error.message}\n`)
    return 1
  }
}

function readPresented({ clock, database }: RecoveryParts): Promise<readonly string[]> {
  return listPresented(database.read, writeSortable(clock.now()))
}

async function resolve(
  parts: RecoveryParts,
  report: UnknownReport,
  args: UnknownArguments,
): Promise<readonly string[]> {
  const { certificates, listed, validAgain, attestations, attestationsValidAgain, treatiesValidAgain } = report
  const changeable = [certificates, listed, validAgain, attestations, attestationsValidAgain, treatiesValidAgain]
  if (changeable.every((each) => each.length === 0)) return []
  if (args.unknown === 'list')
    return ['Nothing was changed. --unknown adopt or --unknown revoke does what is listed above.']
  // Before anything is adopted: a certificate of a compromised key must not be adopted.
  const restored = await restoreListed(parts, listed)
  await revokeAgain(parts, validAgain)
  return [
    ...(restored === 0 ? [] : [`withdrawn again, lost keys barred: ${restored}`]),
    ...(validAgain.length === 0 ? [] : [`certificates revoked again: ${validAgain.length}`]),
    ...(await resolveUnknown(parts, certificates, args)),
    ...(await resolveLost(parts, report, args)),
  ]
}

/** Repeats revocations that the events name; `revoke` also revokes attestations that were not revoked before. */
async function resolveLost(
  parts: RecoveryParts,
  { attestations, attestationsValidAgain, treatiesValidAgain }: UnknownReport,
  { unknown: action, reason }: UnknownArguments,
): Promise<readonly string[]> {
  const isEnded = ({ revokedFor }: LostRecord): boolean => action === 'revoke' || revokedFor !== undefined
  const revoked = [...attestations.filter(isEnded), ...attestationsValidAgain]
  const sequence = await revokeAttestations(parts, revoked, reason)
  const treaties = await revokeTreatiesAgain(parts, treatiesValidAgain)
  return [
    ...(sequence === undefined ? [] : [`attestations revoked: ${revoked.length}, feed ${sequence}`]),
    ...(treaties === 0 ? [] : [`treaties revoked again: ${treaties}`]),
  ]
}

async function resolveUnknown(
  parts: RecoveryParts,
  unknown: readonly UnknownCertificate[],
  { unknown: action, reason }: UnknownArguments,
): Promise<readonly string[]> {
  if (unknown.length === 0) return []
  if (action === 'revoke') {
    const sequence = await revokeUnknown(parts, unknown, reason)
    return [`revoked: ${unknown.length}, list ${sequence ?? 'unchanged'}`]
  }
  const ended = unknown.filter(({ revokedFor }) => revokedFor !== undefined)
  await revokeUnknown(parts, ended, reason)
  const { adopted, barred } = await adoptUnknown(parts, unknown)
  const left = unknown.length - ended.length - adopted
  return [
    ...(ended.length === 0 ? [] : [`revoked after the backup, and revoked again: ${ended.length}`]),
    `adopted: ${adopted}; their nodes go on`,
    ...(barred === 0 ? [] : [`of barred keys, not adopted: ${barred}`]),
    ...(left === 0 ? [] : [`left: ${left}; give their certificates, revoke them, or let their nodes join again`]),
  ]
}

/** Reads a folder without its subfolders, and only names that end in .json. */
async function readTexts(path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [await readFile(path, 'utf8')]
    const names = (await readdir(path)).filter((name) => name.endsWith('.json')).sort()
    const texts: string[] = []
    for (const name of names) texts.push(await readFile(join(path, name), 'utf8'))
    return texts
  } catch (error) {
    throw new SourceUnusableError(`--certificates: ${path} cannot be read`, { cause: error })
  }
}

async function requireFile(path: string): Promise<void> {
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
  if (!isFile) throw new SourceUnusableError(`--audit: ${path} cannot be read`)
}
