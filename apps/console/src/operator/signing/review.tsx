import type { FunctionComponent, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { navigate, withQuery } from '../router.ts'
import type { Act, DrawerProps } from './act.ts'

/** The address that opens a drawer on the present page. It never signs. */
export const doHref = (name: string): string => withQuery({ do: name })

/** Opens the drawer that the address names with ?do=. Every page with actions has one. */
export function Acts(props: { readonly of: readonly Act[]; readonly query: URLSearchParams }): JSX.Element | null {
  const act = props.of.find(({ name }) => name === props.query.get('do'))
  return act === undefined ? null : (
    <LazyDrawer
      key={`${act.name} ${location.pathname}`}
      act={act}
      onClose={() => navigate(withQuery({ do: undefined }))}
    />
  )
}

/** The drawer has its own script, loaded with the first one that is opened. */
function LazyDrawer(props: DrawerProps): JSX.Element | null {
  const [loaded, setLoaded] = useState<{ readonly ReviewDrawer: FunctionComponent<DrawerProps> }>()
  useEffect(() => void import('./review-drawer.tsx').then(setLoaded), [])
  return loaded === undefined ? null : <loaded.ReviewDrawer {...props} />
}
