import type { StoreStatus } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Command } from '../../parts/command.tsx'
import { ExportDrawer as Export, type FilePart } from '../../parts/export.tsx'
import { readEntryLines } from '../../proof/entry-lines.ts'

const PER_READ = 1000
const FILE = 'evidence.jsonl'

export interface EvidenceExportProps {
  readonly status: StoreStatus
  readonly onClose: () => void
}

/** Offers the stored lines from an entry on, byte for byte, as one file. */
export function ExportDrawer({ status, onClose }: EvidenceExportProps): JSX.Element {
  const [from, setFrom] = useState(String((status.retention_checkpoint ?? 0) + 1))
  const isNumber = /^[1-9]\d{0,14}$/.test(from)
  const source = { file: FILE, type: 'application/x-ndjson', start: Number(from) - 1, read: readLines }
  return (
    <Export
      title="Export the entries"
      sentence="The stored lines, byte for byte. The file can be verified without the authority."
      rows="entries"
      button={isNumber ? `Export entries from #${from}` : 'Export entries'}
      source={isNumber ? source : undefined}
      onClose={onClose}
      choices={(isDisabled) => (
        <div class="field">
          <label for="export-from">From entry</label>
          <input
            class="input"
            id="export-from"
            inputMode="numeric"
            value={from}
            disabled={isDisabled}
            onInput={({ currentTarget }) => setFrom(currentTarget.value.trim())}
          />
          <span class="hint">{isNumber ? 'Up to the newest entry.' : 'A whole number from 1.'}</span>
        </div>
      )}
    >
      <section>
        <h3>Verify the file</h3>
        <Command text={`chancery verify ${FILE} --genesis genesis.json --with keys.json`} />
        <p class="quiet small">
          keys.json is the output of chancery evidence key list --json. After retention, add the checkpoint with
          --checkpoint.
        </p>
      </section>
    </Export>
  )
}

async function readLines(after: number, _isFirst: boolean, signal: AbortSignal): Promise<FilePart<number>> {
  const lines = await readEntryLines(after, PER_READ, signal)
  const last = lines.at(-1)
  const sequence = last === undefined ? undefined : sequenceOf(last)
  return {
    text: lines.map((line) => `${line}\n`).join(''),
    count: lines.length,
    next: lines.length < PER_READ ? undefined : sequence,
  }
}

const sequenceOf = (line: string): number =>
  (JSON.parse(line) as { readonly entry: { readonly store_sequence: number } }).entry.store_sequence
