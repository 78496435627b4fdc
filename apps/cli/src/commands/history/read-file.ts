import { open } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'
import type { EvidencePack } from '@chancery/sdk/authority'
import {
  MAX_HISTORY_LINE,
  MAX_PACK_LENGTH,
  isEvidencePack,
  isEvidencePage,
  readHistoryLine,
} from '@chancery/sdk/internal'
import type { TrustHistoryPage, TrustNote, TrustReason, TrustState } from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'
import { readText, toFailure } from '../../files/files.ts'
import { parseJsonObject } from '../../files/json-file.ts'
import { readPack } from '../verify/pack.ts'

export const STATE_WORDS: Readonly<Record<TrustState, string>> = {
  trusted: 'Trusted',
  not_trusted: 'Not trusted',
  unknown: 'Unknown',
}

export const REASON_WORDS: Readonly<Record<TrustReason, string>> = {
  in_force: 'It was signed and valid, and by the stored history not revoked.',
  not_yet_valid: 'It was not issued or not valid yet.',
  expired: 'It had ended.',
  bad_status: 'Its status is not active.',
  revoked: 'It was revoked.',
  superseded: 'It was replaced by its renewal.',
  invalid_signature: 'No key of its issuer signed it.',
  other_network: 'It is not of this network.',
  no_treaty: 'No treaty with its issuer was in force.',
  role_not_allowed: 'The treaty does not accept its roles.',
  status_not_accepted: 'The treaty does not accept its status.',
  record_missing: 'The record itself is not here. Give it as a file.',
  not_stored: 'The authority does not store it: removed, lost, or never issued. Ask an archive.',
  other_record: 'The authority stores another record with this id.',
  two_records: 'There are two signed records with this id. Give the record as a file.',
  key_unknown: 'No key of the authority is known for the time of its signature. Add --key-history.',
  revocation_time_unknown: 'It was revoked, but the time is not stored.',
  history_lost: 'Records of this time may be lost: the database was restored from a backup. Ask an older archive.',
  too_recent: 'Changes up to this time may not be written yet, or came after the file was made. Ask again later.',
  no_statement: 'Nothing here states whether it was revoked.',
  treaties_missing: 'Not all treaties with its issuer are here.',
  decision_only: 'The pack proves the time of its decision only.',
}

export const NOTE_WORDS: Readonly<Record<TrustNote, string>> = {
  records_disagree: 'Signed records disagree. The one that ends the record counts.',
  partner_revoked_before: 'The partner had revoked it by then. Its feed was imported later.',
  former_key:
    'The statement or decision is signed with a former key. If that key was stolen, the thief can have written it.',
  statement_only:
    'Only a later statement of the authority says that it was not revoked. No list or feed of this time is here: give --list or --feed.',
  partner_feed_missing: 'No feed that the partner had signed by then is here. Give --feed.',
  refused_records: 'Some records do not verify with the trusted keys. They were not used.',
}

const BLOCK_BYTES = 256 * 1024

/** A saved answer or an archive as its pages, or an evidence pack. */
export type HistoryFile = { readonly pages: AsyncIterable<TrustHistoryPage> } | { readonly pack: EvidencePack }

/** Finds out what a file is from its beginning. An archive may be larger than the memory. */
export async function openHistoryFile(path: string): Promise<HistoryFile> {
  const first = await firstLine(path)
  const value = parseJsonObject(first)
  if (isEvidencePage(first) || (value !== undefined && isEvidencePack(value)))
    return { pack: readPack(await readText(path, MAX_PACK_LENGTH)) }
  return { pages: readPages(path) }
}

async function firstLine(path: string): Promise<string> {
  for await (const line of readLines(path, MAX_PACK_LENGTH)) return line
  throw new CommandError({ code: 'empty_file', message: `${path} is empty.`, hint: 'Ask for the file again.' })
}

async function* readPages(path: string): AsyncGenerator<TrustHistoryPage> {
  for await (const line of readLines(path, MAX_HISTORY_LINE)) yield readHistoryLine(line)
}

/** Lines of a file, with a limit for each: a file without line feeds must not fill the memory. */
async function* readLines(path: string, maxLength: number): AsyncGenerator<string> {
  const handle = await open(path).catch((error: unknown) => {
    throw toFailure(error, path, 'read')
  })
  try {
    const decoder = new StringDecoder('utf8')
    let waiting = ''
    for (;;) {
      const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(BLOCK_BYTES), position: null })
      waiting += bytesRead === 0 ? decoder.end() : decoder.write(buffer.subarray(0, bytesRead))
      const lines = waiting.split('\n')
      waiting = lines.pop() ?? ''
      yield* lines
      if (waiting.length > maxLength) throw tooLong(path)
      if (bytesRead > 0) continue
      if (waiting !== '') yield waiting
      return
    }
  } finally {
    await handle.close()
  }
}

function tooLong(path: string): CommandError {
  return new CommandError({
    code: 'file_too_large',
    message: `${path} has a line that is too long.`,
    hint: 'Give a file that chancery record history --out, chancery record history --all or chancery evidence pack wrote.',
  })
}
