import { createReadStream } from 'node:fs'
import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { RevocationReason } from '@chancery/protocol'
import { createLog } from '@chancery/service-kit'
import { adoptUnknown, restoreListed, revokeUnknown } from './features/recovery/settle-unknown.ts'
import { SourceUnusable, findUnknown } from './features/recovery/unknown.ts'
import type { UnknownCertificate, UnknownReport } from './features/recovery/unknown.ts'
import { isExpected, readSettingsOrExplain } from './host-settings.ts'
import type { HostArguments } from './host-settings.ts'
import type { Office } from './office.ts'
import { openOffice } from './open-office.ts'

export interface UnknownArguments extends HostArguments {
  /** Audit events that left the database before it was lost, as JSON Lines. */
  readonly audit?: string
  /** A certificate, or a folder with some, as nodes keep them. */
  readonly certificates?: string
  /** What is done with those that the database does not know. */
  readonly unknown: 'list' | 'revoke' | 'adopt'
  readonly reason: RevocationReason
}

/** After a recovery: what others know of that the restored database does not, and what becomes of it. */
export async function recoverUnknown(args: UnknownArguments): Promise<number> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return 1
  try {
    const certificates = args.certificates === undefined ? [] : await readTexts(args.certificates)
    if (args.audit !== undefined) await requireFile(args.audit)
    const opened = await openOffice(settings, {
      log: createLog({ level: 'error', format: 'text' }),
      isRecovering: true,
    })
    try {
      const { office } = opened
      if (office.rollbackWatch.isHalted())
        throw new SourceUnusable('the database is behind its mark: run chancery authority recover without these first')
      const report = await findUnknown(office, {
        events: args.audit === undefined ? [] : createInterface({ input: createReadStream(args.audit) }),
        certificates,
      })
      const lines = [...describe(report), ...(await settle(office, report, args))]
      process.stdout.write(`${lines.join('\n')}\n`)
      return 0
    } finally {
      await opened.close()
    }
  } catch (error) {
    const isKnown = error instanceof SourceUnusable
    if (!(error instanceof Error) || (!isKnown && !isExpected(error))) throw error
    process.stderr.write(`chancery: nothing was changed: ${error.message}\n`)
    return 1
  }
}

async function settle(
  office: Office,
  { certificates: unknown, listed }: UnknownReport,
  { unknown: action, reason }: UnknownArguments,
): Promise<readonly string[]> {
  if (unknown.length + listed.length === 0) return []
  // Before anything is adopted: a certificate of a key that was lost must not come back.
  const restored = action === 'list' ? 0 : await restoreListed(office, listed)
  const first = restored === 0 ? [] : [`withdrawn again, lost keys barred: ${restored}`]
  return [...first, ...(await settleUnknown(office, unknown, action, reason))]
}

async function settleUnknown(
  office: Office,
  unknown: readonly UnknownCertificate[],
  action: UnknownArguments['unknown'],
  reason: RevocationReason,
): Promise<readonly string[]> {
  if (action === 'list')
    return ['nothing was changed: --unknown adopt takes in those with a certificate, --unknown revoke ends all']
  if (unknown.length === 0) return []
  if (action === 'revoke') {
    const sequence = await revokeUnknown(office, unknown, reason)
    return [`revoked: ${unknown.length}, list ${sequence ?? 'unchanged'}`]
  }
  const { adopted, barred } = await adoptUnknown(office, unknown)
  const left = unknown.length - adopted
  return [
    `adopted: ${adopted}; their nodes go on`,
    ...(barred === 0 ? [] : [`of barred keys, not adopted: ${barred}`]),
    ...(left === 0 ? [] : [`left: ${left}; give their certificates, revoke them, or let their nodes join again`]),
  ]
}

function describe({ certificates, listed, events, foreign, ended }: UnknownReport): string[] {
  const lines = [
    `certificates that the database does not know: ${certificates.length}`,
    ...certificates.map(({ cert_id, node_public_key, certificate }) => {
      const known = certificate === undefined ? 'id and key only' : `certificate, ends ${certificate.expires_at}`
      return `  ${cert_id}  key ${node_public_key}  ${known}`
    }),
  ]
  if (listed.length > 0) lines.push(`on the list, and without a row: ${listed.length}`)
  if (foreign > 0) lines.push(`files that hold no certificate of this authority: ${foreign}`)
  if (ended > 0) lines.push(`certificates that have ended, nothing to do: ${ended}`)
  const types = Object.entries(events).sort(([a], [b]) => (a < b ? -1 : 1))
  if (types.length > 0) lines.push('audit events that the database does not have:')
  for (const [type, count] of types) lines.push(`  ${count} ${type}`)
  return lines
}

/** A folder is read without those below it; only names that end in .json. */
async function readTexts(path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [await readFile(path, 'utf8')]
    const names = (await readdir(path)).filter((name) => name.endsWith('.json')).sort()
    const texts: string[] = []
    for (const name of names) texts.push(await readFile(join(path, name), 'utf8'))
    return texts
  } catch (error) {
    throw new SourceUnusable(`--certificates: ${path} cannot be read`, { cause: error })
  }
}

async function requireFile(path: string): Promise<void> {
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
  if (!isFile) throw new SourceUnusable(`--audit: ${path} cannot be read`)
}
