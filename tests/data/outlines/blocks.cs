namespace A { class B {} }
namespace C { }
