import type { Page } from 'playwright-core'

/** What is wider than the screen, and which controls are cut off. */
export async function layoutFindings(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(LAYOUT)
}

/**
 * A control is cut off when a part that hides its overflow ends before it, or when no scrolling can bring it into the
 * window. Text may end with an ellipsis.
 */
const LAYOUT = `(() => {
  const width = document.documentElement.clientWidth
  const height = window.innerHeight
  const show = (element) => element.outerHTML.slice(0, 120)
  const isScroller = (value) => value === 'auto' || value === 'scroll'
  const isContained = (element) => {
    // A positioned element leaves every part up to the one that it is placed in.
    const next = (each) => getComputedStyle(each).position === 'absolute' ? each.offsetParent : each.parentElement
    for (let outer = next(element); outer !== null && outer !== document.body; outer = next(outer))
      if (getComputedStyle(outer).overflowX !== 'visible') return true
    return false
  }
  const isCutOff = (control) => {
    let { left, right, top, bottom } = control.getBoundingClientRect()
    let inner = control
    for (let outer = control.parentElement; outer !== null; inner = outer, outer = outer.parentElement) {
      // A fixed part is placed in the window.
      if (getComputedStyle(inner).position === 'fixed') return left < -1 || right > width + 1 || top < -1 || bottom > height + 1
      if (outer === document.body) break
      const style = getComputedStyle(outer)
      if (style.textOverflow === 'ellipsis') return false
      const box = outer.getBoundingClientRect()
      if (isScroller(style.overflowX)) ({ left, right } = box)
      else if (style.overflowX !== 'visible' && (left < box.left - 1 || right > box.right + 1)) return true
      if (isScroller(style.overflowY)) ({ top, bottom } = box)
      else if (style.overflowY !== 'visible' && (top < box.top - 1 || bottom > box.bottom + 1)) return true
    }
    return left < -1 || right > width + 1
  }
  const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, summary')].filter((control) =>
    control.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    !control.closest('.skip, .vh, [inert]') && control.getBoundingClientRect().width > 1)
  const found = controls.filter(isCutOff).map((control) => 'cut off: ' + show(control))
  const wide = document.documentElement.scrollWidth
  if (wide > width) {
    // The first element that reaches the right end. One inside a part that scrolls or hides makes no page wider.
    const widest = [...document.body.querySelectorAll('*')].find((each) =>
      each.getBoundingClientRect().right >= wide - 1 && !isContained(each))
    found.unshift('wider than the screen: ' + wide + ' of ' + width + (widest === undefined ? '' : ': ' + show(widest)))
  }
  return found
})()`
