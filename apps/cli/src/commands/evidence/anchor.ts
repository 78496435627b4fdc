import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { asJson, writeJson } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { Connection } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { FOR_ALL, replaceFile, toFailure, typed } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { plural } from '../../output/plural.ts'

/** evidence anchor */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const { anchor, status } = await connection.ask((client) => client.evidence.anchor())
  const given = options.text('save')
  const folder = given === undefined ? undefined : resolve(context.cwd, given)
  const saved = folder === undefined ? 0 : await saveAnchors(connection, folder)
  const note =
    folder === undefined
      ? ''
      : `\n${plural(saved, 'anchor')} saved in ${typed(context.cwd, folder)}. Store a copy on another machine.`
  const data = { anchor: anchor === null ? null : asJson(anchor), status, saved }
  if (anchor === null) return { data, text: 'The store is empty; there is nothing to anchor.' }
  const word = status === 'anchored' ? context.style.good('Anchored') : 'Anchored already'
  return { data, text: `${word} through entry ${anchor.store_sequence} (anchor ${anchor.anchor_sequence}).${note}` }
}

/** One file per anchor, named by its sequence, so that a later run only adds files. */
async function saveAnchors(connection: Connection, folder: string): Promise<number> {
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw toFailure(error, folder, 'made')
  })
  let count = 0
  for (let after: number | null = 0; after !== null;) {
    const from: number = after
    const page = await connection.ask((client) => client.evidence.anchors({ after_anchor: from, limit: 1000 }))
    for (const anchor of page.anchors) {
      const name = `anchor-${String(anchor.anchor_sequence).padStart(8, '0')}.json`
      await replaceFile(join(folder, name), `${writeJson(asJson(anchor))}\n`, FOR_ALL)
      count += 1
    }
    after = page.next_after_anchor
  }
  return count
}
