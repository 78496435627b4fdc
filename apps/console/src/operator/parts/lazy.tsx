import type { FunctionComponent, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Drawer } from './drawer.tsx'
import { Blank } from './problem.tsx'

type State<Value> = { readonly value?: Value; readonly hasFailed?: true }

/** Loads a script, once. A load that failed can be tried again. `isWanted` false: it is not loaded yet. */
export function useLoaded<Value>(
  load: () => Promise<Value>,
  isWanted = true,
): State<Value> & { readonly again: () => void } {
  const [state, setState] = useState<State<Value>>({})
  const run = (): void => {
    setState({})
    load().then(
      (value) => setState({ value }),
      () => setState({ hasFailed: true }),
    )
  }
  useEffect(() => {
    if (isWanted && state.value === undefined) run()
  }, [isWanted])
  return { ...state, again: run }
}

const TITLE = 'A script of this page did not load'
const TEXT =
  'Nothing was opened and nothing was signed. Check the connection to the authority, and try again. If that does not help, load the page again and unlock it.'

/** In place of a part whose script did not load. */
export function NotLoaded({ onAgain }: { readonly onAgain: () => void }): JSX.Element {
  return (
    <div role="alert" data-not-loaded>
      <Blank icon="help" title={TITLE} text={TEXT}>
        <button type="button" class="btn primary" onClick={onAgain}>
          Try again
        </button>
      </Blank>
    </div>
  )
}

/** In place of a drawer whose script did not load. */
export function NotOpened(props: { readonly onAgain: () => void; readonly onClose: () => void }): JSX.Element {
  return (
    <Drawer isReading name="not-loaded" title="Not opened" onClose={props.onClose}>
      <NotLoaded onAgain={props.onAgain} />
    </Drawer>
  )
}

/** Returns a drawer whose script is loaded when it is opened first. */
export function lazyDrawer<Props extends { readonly onClose: () => void }>(
  load: () => Promise<FunctionComponent<Props>>,
): FunctionComponent<Props> {
  return function LazyDrawer(props: Props) {
    const { value: Loaded, hasFailed, again } = useLoaded(async () => ({ Component: await load() }))
    if (Loaded !== undefined) return <Loaded.Component {...props} />
    return hasFailed === true ? <NotOpened onAgain={again} onClose={props.onClose} /> : null
  }
}
