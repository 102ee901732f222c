// Puts the form of a plan into a page of another site: <script src=".../pages/embed.js" data-plan="ID"></script>.
//
// The form stays a page of the collector, in a frame. It tells this site nothing: the height is the same for all questions,
// and longer ones are scrolled within the frame. The collector must allow this site: hush serve --embed ORIGIN.
{
  const script = document.currentScript as HTMLScriptElement | null;
  const plan = script?.dataset["plan"] ?? "";
  if (script !== null && /^[\da-f]{64}$/.test(plan)) {
    const { lang, title, height } = script.dataset;
    const frame = document.createElement("iframe");
    const query = new URLSearchParams({ plan, ...(lang === undefined ? {} : { lang }) });
    frame.src = `${new URL(script.src).origin}/?${query.toString()}`;
    frame.title = title ?? "Survey";
    frame.referrerPolicy = "no-referrer";
    // Never higher than the window, so that there is a place beside it by which the page can be scrolled.
    frame.style.cssText = "width:100%;border:0;height:40rem;height:min(40rem,85vh);height:min(40rem,85svh)";
    if (height !== undefined) frame.style.height = height;
    script.after(frame);
  }
}
