import { useEffect, useRef, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { authority, explain } from '../../authority.ts'
import { Badge } from '../../components/badge.tsx'
import { TreatyView } from '../../components/treaty-view.tsx'
import type { Graph } from './graph.ts'
import { MapView, type Picked } from './map-view.ts'
import { findTreaties } from './find-treaties.ts'
import { DRAWN_EDGES, strideOf } from './drawing.ts'
import { type Drawn, issuerImpact, placeInForce, treatyImpact } from './treaty-impact.ts'

/** Content of the panel next to the map. */
export type Shown =
  | { readonly kind: 'hint' }
  | { readonly kind: 'sovereign'; readonly node: number }
  | { readonly kind: 'paper'; readonly id: string }

interface Path {
  readonly text: string
  readonly edges: readonly number[]
}

const NO_PATH: Path = { text: '', edges: [] }
const NOTHING_DRAWN: Drawn = { cut: [], touched: [], text: '' }

/** The interactive map, with a panel for the selection. */
// oxlint-disable-next-line max-lines-per-function -- the state of the page and its markup
export function Explorer(props: {
  readonly graph: Graph
  readonly opened: Opened
  /** The path requested with the page. */
  readonly asked: { readonly from: string; readonly to: string } | undefined
}): JSX.Element {
  const { graph, opened, asked } = props
  const canvas = useRef<HTMLCanvasElement>(null)
  const view = useRef<MapView>(undefined)
  const [shown, setShown] = useState<Shown>({ kind: 'hint' })
  const [path, setPath] = useState<Path>(NO_PATH)
  const [drawn, setDrawn] = useState<Drawn>(NOTHING_DRAWN)
  const [problem, setProblem] = useState('')

  const pick = (picked: Picked): void => {
    setProblem('')
    setDrawn(NOTHING_DRAWN)
    if (picked === undefined) setShown({ kind: 'hint' })
    else if ('node' in picked) setShown({ kind: 'sovereign', node: picked.node })
    else
      openEdge(graph, picked.edge).then(
        (id) => setShown({ kind: 'paper', id }),
        (error: unknown) => setProblem(explain(error)),
      )
  }
  useEffect(() => {
    if (canvas.current === null) return
    const made = new MapView(canvas.current, graph, pick)
    view.current = made
    return () => made.close()
  }, [graph])
  useEffect(
    () =>
      opened.listen({
        treaty: (id) => setShown({ kind: 'paper', id }),
        issuerResult: (issuer) => setDrawn(issuerImpact(graph, issuer)),
      }),
    [opened, graph],
  )
  useEffect(() => {
    if (asked !== undefined) void findPath(graph, asked.from, asked.to).then(setPath)
  }, [graph, asked])
  useEffect(() => {
    const node = shown.kind === 'sovereign' ? shown.node : undefined
    view.current?.show({ node, path: path.edges, cut: drawn.cut, touched: drawn.touched })
  }, [shown, path, drawn])
  // Shows all affected networks.
  useEffect(() => {
    if (drawn.cut.length > 0) view.current?.fit()
  }, [drawn])

  return (
    <div class="explorer">
      <div class="stage">
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={`Map of ${graph.ids.length} networks and ${graph.from.length} treaties. Arrow keys move, plus and minus zoom, zero shows all. The tables list the same.`}
        />
        <div class="tools">
          <button type="button" class="btn icon" onClick={() => view.current?.zoom(1.4)} aria-label="Zoom in">
            +
          </button>
          <button type="button" class="btn icon" onClick={() => view.current?.zoom(1 / 1.4)} aria-label="Zoom out">
            −
          </button>
          <button type="button" class="btn" onClick={() => view.current?.fit()}>
            All
          </button>
        </div>
      </div>
      <aside class="inspector" aria-live="polite">
        {strideOf(graph, DRAWN_EDGES.still) === 1 ? null : (
          <p class="quiet">Of very many treaties one in {strideOf(graph, DRAWN_EDGES.still)} is drawn; all count.</p>
        )}
        <GoTo
          graph={graph}
          go={(node) => {
            view.current?.centre(node)
            setShown({ kind: 'sovereign', node })
          }}
        />
        {problem === '' ? null : <p role="alert">{problem}</p>}
        {path.text === '' ? null : (
          <p class="answer" data-drawn-path={path.edges.length}>
            {path.text}
          </p>
        )}
        {drawn.text === '' ? null : (
          <p class="answer" data-drawn-cut={drawn.cut.length} data-touched={drawn.touched.length}>
            {drawn.text}
          </p>
        )}
        <Inspected graph={graph} shown={shown} show={setShown} draw={setPath} mark={setDrawn} />
      </aside>
    </div>
  )
}

function Inspected(props: {
  readonly graph: Graph
  readonly shown: Shown
  readonly show: (shown: Shown) => void
  readonly draw: (path: Path) => void
  readonly mark: (drawn: Drawn) => void
}): JSX.Element {
  const { graph, shown, show, draw, mark } = props
  if (shown.kind === 'paper')
    return (
      <>
        <h3>Treaty</h3>
        <TreatyView id={shown.id} preview={(from, to) => mark(treatyImpact(graph, from, to))} />
      </>
    )
  if (shown.kind === 'sovereign') return <Sovereign graph={graph} node={shown.node} show={show} draw={draw} />
  return <p class="quiet">Select a network or a treaty on the map. Drag to move, Ctrl and wheel to zoom.</p>
}

function Sovereign(props: {
  readonly graph: Graph
  readonly node: number
  readonly show: (shown: Shown) => void
  readonly draw: (path: Path) => void
}): JSX.Element {
  const { graph, node, show, draw } = props
  const [target, setTarget] = useState('')
  const [treaties, setTreaties] = useState<readonly { id: string; label: string; tone: string; state: string }[]>([])
  const id = graph.ids[node] ?? ''
  useEffect(() => {
    let isCurrent = true
    findTreaties(id).then(
      (found) => isCurrent && setTreaties(found),
      () => isCurrent && setTreaties([]),
    )
    return () => {
      isCurrent = false
    }
  }, [id])
  const find = async (event: Event): Promise<void> => {
    event.preventDefault()
    draw(await findPath(graph, id, target))
  }
  return (
    <>
      <h3>{id}</h3>
      <form class="inline-form" onSubmit={(event) => void find(event)}>
        <label for="path-target">Trust path to</label>
        <input
          class="input"
          id="path-target"
          list="sovereigns"
          value={target}
          required
          onInput={(event) => setTarget(event.currentTarget.value)}
        />
        <button class="btn">Draw</button>
      </form>
      <ul class="plain">
        {treaties.map((treaty) => (
          <li key={treaty.id}>
            <button type="button" class="link" onClick={() => show({ kind: 'paper', id: treaty.id })}>
              {treaty.label}
            </button>{' '}
            <Badge tone={treaty.tone} word={treaty.state} />
          </li>
        ))}
      </ul>
    </>
  )
}

const MAX_OFFERED = 500

function GoTo({ graph, go }: { readonly graph: Graph; readonly go: (node: number) => void }): JSX.Element {
  const onChange = (event: { readonly currentTarget: HTMLInputElement }): void => {
    const node = graph.placeOf.get(event.currentTarget.value)
    if (node !== undefined) go(node)
  }
  return (
    <p class="inline-form">
      <label for="go-to">Go to</label>
      <input class="input" id="go-to" list="sovereigns" onChange={onChange} />
      <datalist id="sovereigns">
        {graph.ids.slice(0, MAX_OFFERED).map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
    </p>
  )
}

/** Opened from another part of the page, for example a table. */
export interface Opened {
  listen(open: { readonly treaty: (id: string) => void; readonly issuerResult: (issuer: string) => void }): () => void
}

async function openEdge(graph: Graph, edge: number): Promise<string> {
  const [from, to] = [graph.ids[graph.from[edge] ?? 0] ?? '', graph.ids[graph.to[edge] ?? 0] ?? '']
  if (graph.reported[edge] === 1)
    throw new Error(`${from} reports that it recognises ${to}. This authority does not store that treaty.`)
  const page = await authority().recognitionTreaties.list({ issuer_sovereign_id: from, subject_sovereign_id: to })
  const newest = page.recognition_treaties.at(-1)
  if (newest === undefined) throw new Error('That treaty is not stored any more.')
  return newest.treaty.treaty_id
}

async function findPath(graph: Graph, from: string, to: string): Promise<Path> {
  try {
    const found = await authority().connectome.trustPath({ from, to })
    const edges = found.path.flatMap((edge) => placeInForce(graph, edge.from, edge.to) ?? [])
    const names = [from, ...found.path.map((edge) => edge.to)].join(' → ')
    if (found.trusted) return { edges, text: names }
    if (found.reason === 'reported_treaty_path')
      return { edges, text: `${names}: only with treaties that partners report. They make no member accepted.` }
    return { edges, text: `No active treaty connects ${from} to ${to}.` }
  } catch (error) {
    return { edges: [], text: explain(error) }
  }
}
