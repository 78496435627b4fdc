import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Command } from '../../parts/command.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { offerBlob } from '../../parts/file.ts'
import { readEntryLines } from '../../proof/entry-lines.ts'
import type { StoreStatus } from './status.ts'

const PER_READ = 1000
const FILE = 'evidence.jsonl'

type State =
  | { readonly kind: 'ready' | 'busy' | 'done' }
  /** A read failed. The entries before it are in memory, and the next press goes on after them. */
  | { readonly kind: 'stopped'; readonly text: string }

interface Progress {
  readonly state: State
  readonly count: number
  readonly run: (from: number) => Promise<void>
}

/** Reads the entries from one on. Leaving the drawer ends the read. */
function useExport(): Progress {
  const [state, setState] = useState<State>({ kind: 'ready' })
  const [count, setCount] = useState(0)
  const read = useRef<Reading>({ parts: [], count: 0, after: undefined })
  const abort = useRef(new AbortController())
  useEffect(() => () => abort.current.abort(), [])
  const run = async (from: number): Promise<void> => {
    setState({ kind: 'busy' })
    read.current.after ??= from - 1
    try {
      await readOn(read.current, abort.current.signal, setCount)
      offerBlob(FILE, new Blob(read.current.parts, { type: 'application/x-ndjson' }))
      setState({ kind: 'done' })
    } catch (error) {
      if (!abort.current.signal.aborted)
        setState({ kind: 'stopped', text: error instanceof Error ? error.message : 'The entries cannot be read.' })
    }
  }
  return { state, count, run }
}

/** Offers the stored lines from an entry on, byte for byte, as one file. */
export function ExportDrawer(props: { readonly status: StoreStatus; readonly onClose: () => void }): JSX.Element {
  const { onClose } = props
  const [from, setFrom] = useState(String((props.status.retention_checkpoint ?? 0) + 1))
  const { state, count, run } = useExport()
  const isNumber = /^[1-9]\d{0,14}$/.test(from)
  const button = state.kind === 'stopped' ? `Go on after ${count.toLocaleString('en')} entries` : 'Export'
  return (
    <Drawer
      isReading
      name="export"
      title="Export the entries"
      sentence="The stored lines, byte for byte. The file can be verified without the authority."
      onClose={onClose}
      foot={
        <div class="end">
          <button type="button" class="btn tall" onClick={onClose}>
            {state.kind === 'done' ? 'Close' : 'Cancel'}
          </button>
          {state.kind === 'done' ? null : (
            <button
              type="button"
              class="btn primary tall"
              disabled={state.kind === 'busy' || !isNumber}
              onClick={() => void run(Number(from))}
            >
              {button}
            </button>
          )}
        </div>
      }
    >
      <div class="field">
        <label for="export-from">From entry</label>
        <input
          class="input"
          id="export-from"
          inputMode="numeric"
          value={from}
          disabled={state.kind !== 'ready'}
          onInput={({ currentTarget }) => setFrom(currentTarget.value.trim())}
        />
        <span class="hint">{isNumber ? 'Up to the newest entry.' : 'A whole number from 1.'}</span>
      </div>
      <Outcome state={state} count={count} />
    </Drawer>
  )
}

function Outcome({ state, count }: Pick<Progress, 'state' | 'count'>): JSX.Element {
  const entries = `${count.toLocaleString('en')} entries`
  return (
    <>
      <div role="status" data-export={state.kind}>
        {state.kind === 'busy' ? `${entries} read…` : state.kind === 'done' ? `${entries} are in ${FILE}.` : null}
      </div>
      {state.kind === 'stopped' ? <p role="alert">{state.text}</p> : null}
      <section>
        <h3>Verify the file</h3>
        <Command text={`chancery evidence verify ${FILE} --genesis genesis.json --executor-keys keys.json`} />
        <p class="quiet small">
          keys.json is the output of chancery executor-key list --json. After retention, add the checkpoint with
          --checkpoint.
        </p>
      </section>
    </>
  )
}

interface Reading {
  readonly parts: Blob[]
  count: number
  /** The last sequence that was read; undefined before the first press. */
  after: number | undefined
}

async function readOn(reading: Reading, signal: AbortSignal, onProgress: (count: number) => void): Promise<void> {
  for (;;) {
    const lines = await readEntryLines(reading.after ?? 0, PER_READ, signal)
    const last = lines.at(-1)
    if (last === undefined) return
    const { entry } = JSON.parse(last) as { readonly entry: { readonly store_sequence: number } }
    reading.parts.push(new Blob(lines.map((line) => `${line}\n`)))
    reading.count += lines.length
    reading.after = entry.store_sequence
    onProgress(reading.count)
    if (lines.length < PER_READ) return
  }
}
