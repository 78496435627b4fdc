import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CallError } from '../client.ts'
import { Drawer } from './drawer.tsx'
import { offerBlob } from './file.ts'

/** A part of a file, as read. */
export interface FilePart<Position> {
  readonly text: string
  readonly count: number
  /** Where the next part begins; undefined after the last one. */
  readonly next: Position | undefined
}

/** What is exported: the file, and how each part of it is read. */
export interface FileSource<Position> {
  readonly file: string
  readonly type: string
  readonly start: Position
  readonly read: (position: Position, isFirst: boolean, signal: AbortSignal) => Promise<FilePart<Position>>
}

type State =
  | { readonly kind: 'ready' | 'busy' | 'done' }
  /** A read failed. The parts before it are stored, and the next press goes on after them. */
  | { readonly kind: 'stopped'; readonly text: string }

interface Reading<Position> {
  readonly source: FileSource<Position>
  readonly parts: Blob[]
  count: number
  position: Position
}

interface Export {
  readonly state: State
  readonly count: number
  /** The name of the file that was begun. */
  readonly file: string
  readonly run: () => Promise<void>
  readonly reset: () => void
}

/** Reads the parts of a file, one after the other, and offers it. */
function useExport<Position>(source: FileSource<Position> | undefined): Export {
  const [state, setState] = useState<State>({ kind: 'ready' })
  const [count, setCount] = useState(0)
  const reading = useRef<Reading<Position> | undefined>(undefined)
  const abort = useRef(new AbortController())
  useEffect(() => () => abort.current.abort(), [])
  const run = async (): Promise<void> => {
    if (state.kind === 'busy' || source === undefined) return
    if (state.kind !== 'stopped') reading.current = { source, parts: [], count: 0, position: source.start }
    const now = reading.current
    if (now === undefined) return
    setState({ kind: 'busy' })
    try {
      await readOn(now, abort.current.signal, setCount)
      offerBlob(now.source.file, new Blob(now.parts, { type: now.source.type }))
      setState({ kind: 'done' })
    } catch (error) {
      if (!abort.current.signal.aborted)
        setState({ kind: 'stopped', text: error instanceof Error ? error.message : 'The rows cannot be read.' })
    }
  }
  return { state, count, file: reading.current?.source.file ?? '', run, reset: () => setState({ kind: 'ready' }) }
}

/**
 * The drawer of every export: what to export, its progress, and how to go on after a failed read. Parts are blobs, which
 * a browser can store outside of its memory. Leaving the drawer ends the read.
 */
export function ExportDrawer<Position>(props: {
  readonly title: string
  readonly sentence: string
  /** Plural, for the progress: «entries». */
  readonly rows: string
  /** Names what the button exports. */
  readonly button: string
  /** Undefined while the choices do not fit. */
  readonly source: FileSource<Position> | undefined
  readonly onClose: () => void
  /** The choices. They cannot be changed while a part of the file is read. */
  readonly choices: (isDisabled: boolean) => ComponentChildren
  readonly children?: ComponentChildren
}): JSX.Element {
  const { source, rows, onClose } = props
  const { state, count, file, run, reset } = useExport(source)
  const number = `${count.toLocaleString('en')} ${rows}`
  return (
    <Drawer
      isReading
      name="export"
      title={props.title}
      sentence={props.sentence}
      onClose={onClose}
      foot={
        <div class="end">
          {state.kind === 'stopped' ? (
            <button type="button" class="btn tall" onClick={reset}>
              Start again
            </button>
          ) : null}
          <button type="button" class="btn tall" onClick={onClose}>
            {state.kind === 'done' ? 'Close' : 'Cancel'}
          </button>
          <button
            type="button"
            class="btn primary tall"
            data-run-export
            aria-disabled={state.kind === 'busy' || source === undefined}
            onClick={() => void run()}
          >
            {state.kind === 'stopped' ? `Go on after ${number}` : props.button}
          </button>
        </div>
      }
    >
      {props.choices(state.kind === 'busy' || state.kind === 'stopped')}
      <div role="status" data-export={state.kind}>
        {state.kind === 'busy'
          ? `${number} read. Close the drawer to stop.`
          : state.kind === 'done'
            ? `${number} are in ${file}.`
            : null}
      </div>
      {state.kind === 'stopped' ? <p role="alert">{state.text}</p> : null}
      {props.children}
    </Drawer>
  )
}

async function readOn<Position>(
  reading: Reading<Position>,
  signal: AbortSignal,
  onCount: (count: number) => void,
): Promise<void> {
  onCount(reading.count)
  for (;;) {
    const part = await readPart(reading, signal)
    reading.parts.push(new Blob([part.text]))
    reading.count += part.count
    onCount(reading.count)
    if (part.next === undefined) return
    reading.position = part.next
  }
}

/** At the limit of the authority it waits for the stated time. */
async function readPart<Position>(reading: Reading<Position>, signal: AbortSignal): Promise<FilePart<Position>> {
  for (;;) {
    try {
      return await reading.source.read(reading.position, reading.parts.length === 0, signal)
    } catch (error) {
      if (!(error instanceof CallError) || error.status !== 429) throw error
      await pause((error.retryAfterSeconds ?? 5) * 1000, signal)
    }
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(new Error('The export was stopped.'))
    })
  })
}
