import type { Graph } from './graph.ts'
import type { NodePositions } from './layout.ts'
import { runLayout } from './run-layout.ts'
import { type Camera, DRAWN_EDGES, type Highlight, NOTHING_MARKED, drawGraph, findUnder, fitCamera } from './drawing.ts'

export type Picked = { readonly node: number } | { readonly edge: number } | undefined

const SETTLE_MS = 90
const REST_MS = 400
/**
 * Up to this size every frame is drawn again. Above it, a gesture moves the last frame and the next one follows later.
 */
const REDRAW_EDGES = 400

/** The map on its canvas: draws, moves, zooms, and reports the selection. */
export class MapView {
  readonly #canvas: HTMLCanvasElement
  readonly #context: CanvasRenderingContext2D
  readonly #graph: Graph
  readonly #pick: (picked: Picked) => void
  readonly #ends: (() => void)[] = []
  #places: NodePositions = new Float32Array()
  #camera: Camera = { x: 0, y: 0, scale: 1 }
  #highlight: Highlight = NOTHING_MARKED
  #isMovedByHand = false
  #frame = 0
  #settle: ReturnType<typeof setTimeout> | undefined
  #still: { readonly picture: HTMLCanvasElement; readonly camera: Camera } | undefined

  constructor(canvas: HTMLCanvasElement, graph: Graph, pick: (picked: Picked) => void) {
    const context = canvas.getContext('2d')
    if (context === null) throw new Error('This browser cannot draw the map.')
    this.#canvas = canvas
    this.#context = context
    this.#graph = graph
    this.#pick = pick
    this.#listen()
    const { ids, from, to, degree } = graph
    this.#ends.push(
      runLayout({ count: ids.length, from, to, degree }, (positions) => {
        this.#places = positions
        this.#still = undefined
        if (this.#isMovedByHand) this.#redraw(DRAWN_EDGES.moving)
        else this.#fit(DRAWN_EDGES.moving)
        // The complete drawing follows when no further report arrives.
        clearTimeout(this.#settle)
        this.#settle = setTimeout(() => this.#redraw(), REST_MS)
      }),
    )
  }

  fit(): void {
    this.#fit(DRAWN_EDGES.still)
  }

  #fit(mostEdges: number): void {
    this.#camera = fitCamera(this.#places, this.#canvas.clientWidth, this.#canvas.clientHeight)
    this.#still = undefined
    this.#redraw(mostEdges)
  }

  show(highlight: Highlight): void {
    this.#highlight = highlight
    this.#still = undefined
    this.#redraw()
  }

  /** Moves a network to the middle. */
  centre(node: number): void {
    const scale = Math.max(this.#camera.scale, 0.7)
    this.#move({
      x: this.#canvas.clientWidth / 2 - (this.#places[node * 2] ?? 0) * scale,
      y: this.#canvas.clientHeight / 2 - (this.#places[node * 2 + 1] ?? 0) * scale,
      scale,
    })
  }

  zoom(factor: number, x = this.#canvas.clientWidth / 2, y = this.#canvas.clientHeight / 2): void {
    const scale = Math.min(8, Math.max(0.01, this.#camera.scale * factor))
    const ratio = scale / this.#camera.scale
    this.#move({ x: x - (x - this.#camera.x) * ratio, y: y - (y - this.#camera.y) * ratio, scale })
  }

  pan(dx: number, dy: number): void {
    this.#move({ ...this.#camera, x: this.#camera.x + dx, y: this.#camera.y + dy })
  }

  /** Returns the position of a network on the canvas, for tests and for the keyboard. */
  whereIs(node: number): { readonly x: number; readonly y: number } {
    const { x, y, scale } = this.#camera
    return { x: (this.#places[node * 2] ?? 0) * scale + x, y: (this.#places[node * 2 + 1] ?? 0) * scale + y }
  }

  close(): void {
    for (const end of this.#ends) end()
    cancelAnimationFrame(this.#frame)
    clearTimeout(this.#settle)
  }

  #move(camera: Camera): void {
    this.#isMovedByHand = true
    this.#camera = camera
    if (this.#graph.from.length <= REDRAW_EDGES) {
      this.#redraw()
      return
    }
    this.#keepStill()
    cancelAnimationFrame(this.#frame)
    this.#frame = requestAnimationFrame(() => this.#blit())
    clearTimeout(this.#settle)
    this.#settle = setTimeout(() => {
      this.#still = undefined
      this.#redraw()
    }, SETTLE_MS)
  }

  #keepStill(): void {
    if (this.#still !== undefined) return
    const picture = document.createElement('canvas')
    picture.width = this.#canvas.width
    picture.height = this.#canvas.height
    picture.getContext('2d')?.drawImage(this.#canvas, 0, 0)
    this.#still = { picture, camera: this.#drawn }
  }

  #drawn: Camera = { x: 0, y: 0, scale: 1 }

  #blit(): void {
    if (this.#still === undefined) return
    const { picture, camera: old } = this.#still
    const ratio = this.#camera.scale / old.scale
    const [x, y] = [this.#camera.x - old.x * ratio, this.#camera.y - old.y * ratio]
    this.#context.setTransform(1, 0, 0, 1, 0, 0)
    this.#context.clearRect(0, 0, this.#canvas.width, this.#canvas.height)
    this.#context.setTransform(ratio, 0, 0, ratio, x * devicePixelRatio, y * devicePixelRatio)
    this.#context.drawImage(picture, 0, 0)
  }

  #redraw(mostEdges: number = DRAWN_EDGES.still): void {
    cancelAnimationFrame(this.#frame)
    this.#frame = requestAnimationFrame(() => {
      const { clientWidth, clientHeight } = this.#canvas
      const [width, height] = [clientWidth * devicePixelRatio, clientHeight * devicePixelRatio].map(Math.round)
      if (this.#canvas.width !== width || this.#canvas.height !== height)
        [this.#canvas.width, this.#canvas.height] = [width ?? 0, height ?? 0]
      drawGraph(this.#context, this.#graph, this.#places, this.#camera, this.#highlight, mostEdges)
      this.#drawn = this.#camera
    })
  }

  #listen(): void {
    const canvas = this.#canvas
    const on = <Name extends keyof HTMLElementEventMap>(
      name: Name,
      handle: (event: HTMLElementEventMap[Name]) => void,
      options?: AddEventListenerOptions,
    ): void => {
      canvas.addEventListener(name, handle, options)
      this.#ends.push(() => canvas.removeEventListener(name, handle))
    }
    let current: { readonly x: number; readonly y: number } | undefined
    let isDragged = false
    on('pointerdown', (event) => {
      current = { x: event.offsetX, y: event.offsetY }
      isDragged = false
      canvas.setPointerCapture(event.pointerId)
    })
    on('pointermove', (event) => {
      if (current === undefined) return
      const [dx, dy] = [event.offsetX - current.x, event.offsetY - current.y]
      if (!isDragged && Math.hypot(dx, dy) < 4) return
      isDragged = true
      current = { x: event.offsetX, y: event.offsetY }
      this.pan(dx, dy)
    })
    on('pointerup', (event) => {
      if (current !== undefined && !isDragged)
        this.#pick(findUnder(this.#graph, this.#places, this.#camera, event.offsetX, event.offsetY))
      current = undefined
    })
    on(
      'wheel',
      (event) => {
        // Without a modifier key the page scrolls, because a map must not trap the reader.
        if (!event.ctrlKey && !event.metaKey) return
        event.preventDefault()
        this.zoom(Math.exp(-event.deltaY * 0.003), event.offsetX, event.offsetY)
      },
      { passive: false },
    )
    on('keydown', (event) => this.#onKey(event))
    const resized = new ResizeObserver(() => (this.#isMovedByHand ? this.#redraw() : this.fit()))
    resized.observe(canvas)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const repaint = (): void => this.#redraw()
    scheme.addEventListener('change', repaint)
    this.#ends.push(
      () => resized.disconnect(),
      () => scheme.removeEventListener('change', repaint),
    )
  }

  #onKey(event: KeyboardEvent): void {
    const actions: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => this.pan(60, 0),
      ArrowRight: () => this.pan(-60, 0),
      ArrowUp: () => this.pan(0, 60),
      ArrowDown: () => this.pan(0, -60),
      '+': () => this.zoom(1.3),
      '-': () => this.zoom(1 / 1.3),
      '0': () => this.fit(),
    }
    const action = actions[event.key]
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    action()
  }
}
