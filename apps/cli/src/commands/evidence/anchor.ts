import { resolve } from 'node:path'
import { AnchorChecker, type StoreAnchor, anchorDigest, asJson, toUtf8, writeJson } from '@chancery/protocol'
import { type Connection, FOLLOW_HINT, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, plural } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { typed } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { ArchiveFolder } from './archive-files/files.ts'
import { KnownAnchors, type SavedAnchor } from './saved-anchors.ts'

/** A saved anchor never changes, and every user may read it. */
const READ_ONLY = 0o444

/** evidence anchor */
export async function runEvidenceAnchor(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const given = options.text('out')
  if (given !== undefined && connection.genesis === undefined)
    throw usageError(
      'An anchor is verified before it is saved, and no genesis block pins the authority.',
      'Give --genesis.',
    )
  const { anchor, status } = await connection.ask((client) => client.evidence.anchor())
  if (anchor !== null) await requireValid(connection, [anchor])
  const folder = given === undefined ? undefined : resolve(context.cwd, given)
  const saved = folder === undefined ? 0 : await saveAnchors(context, connection, folder)
  const note =
    folder === undefined
      ? ''
      : `\n${plural(saved, 'anchor')} saved in ${typed(context.cwd, folder)}. Store a copy on another machine.`
  const data = { anchor: anchor === null ? null : asJson(anchor), status, saved }
  if (anchor === null) return { data, text: 'The store is empty; there is nothing to anchor.' }
  const word = status === 'anchored' ? context.style.good('Anchored') : 'Anchored already'
  return { data, text: `${word} through entry ${anchor.store_sequence} (anchor ${anchor.anchor_sequence}).${note}` }
}

/** Refuses anchors that the pinned authority did not sign, or that are not one chain. */
async function requireValid(connection: Connection, anchors: readonly StoreAnchor[]): Promise<void> {
  const { genesis, followed, url } = connection
  if (genesis === undefined) return
  const { chainFindings } = await AnchorChecker.open(anchors, followed?.keys ?? { genesis }, genesis.network_name)
  const [first] = chainFindings
  if (first === undefined) return
  throw new CommandError({
    code: first.reason,
    message: `${url} gives an anchor that does not verify: anchor ${first.anchor_sequence}, ${first.detail}. Nothing was saved.`,
    hint: `Do not trust this store. ${FOLLOW_HINT}`,
  })
}

/** Anyone who can write to the folder could otherwise make the authority look like one that rewrote its store. */
async function requireSigned(
  cwd: string,
  { genesis, followed }: Connection,
  { file, anchor }: SavedAnchor,
): Promise<void> {
  if (genesis === undefined) return
  const { chainFindings } = await AnchorChecker.open([anchor], followed?.keys ?? { genesis }, genesis.network_name)
  const [first] = chainFindings
  if (first === undefined) return
  throw new CommandError({
    code: first.reason,
    message: `${typed(cwd, file)} has an anchor that the pinned authority did not sign: ${first.detail}. Nothing was saved.`,
    hint: `Find out who wrote it, and move it out of the folder. ${FOLLOW_HINT}`,
  })
}

/**
 * One file per anchor, named by its sequence. A file is never replaced: an anchor with another content than a saved one
 * proves that the store was rewritten, and is saved next to it.
 */
async function saveAnchors({ cwd }: CommandContext, connection: Connection, folder: string): Promise<number> {
  const anchors = await fetchAnchors(connection)
  await requireValid(connection, anchors)
  const known = await KnownAnchors.read(cwd, folder, (saved) => requireSigned(cwd, connection, saved))
  const files = new ArchiveFolder(folder)
  const forks: string[] = []
  for (const anchor of anchors) {
    // What follows a contradiction belongs to that other history.
    const isFork = forks.length > 0 || known.contradicts(anchor)
    const name = fileName(anchor, isFork)
    if (isFork) forks.push(name)
    if (!known.has(anchor)) await files.create(name, toUtf8(`${writeJson(asJson(anchor))}\n`), READ_ONLY)
  }
  const last = anchors.at(-1)?.anchor_sequence ?? 0
  if (forks.length === 0 && last >= known.last) return anchors.length
  throw rewritten(
    forks.length > 0
      ? `${connection.url} signed another history than ${typed(cwd, folder)} has, from anchor ${anchors[anchors.length - forks.length]?.anchor_sequence ?? 0} on`
      : `${typed(cwd, folder)} has anchor ${known.last}, and ${connection.url} ends with anchor ${last}`,
    forks,
  )
}

async function fetchAnchors(connection: Connection): Promise<readonly StoreAnchor[]> {
  const found: StoreAnchor[] = []
  for (let after: number | null = 0; after !== null;) {
    const from: number = after
    const page = await connection.ask((client) => client.evidence.anchors({ after_anchor: from, limit: 1000 }))
    found.push(...page.anchors)
    after = page.next_after_anchor
  }
  return found
}

/** The digest in the name of a fork lets several be saved, each once. */
function fileName(anchor: StoreAnchor, isFork: boolean): string {
  const name = `anchor-${String(anchor.anchor_sequence).padStart(8, '0')}`
  return isFork ? `${name}.fork-${anchorDigest(anchor).slice(0, 16)}.json` : `${name}.json`
}

function rewritten(what: string, forks: readonly string[]): CommandError {
  return new CommandError({
    code: 'history_rewritten',
    message: `THE STORE WAS REWRITTEN: ${what}.`,
    problems:
      forks.length === 0
        ? []
        : [`Saved next to the others: ${forks[0] ?? ''} (${plural(forks.length, 'anchor')} in all).`],
    hint: 'No saved anchor was replaced. Store a copy of the folder on another machine before you ask the operator.',
  })
}
